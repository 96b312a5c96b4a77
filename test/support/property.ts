import fc from "fast-check";

/** Every run makes the same cases, so that a red test is red again; GT_SEED tries others. */
fc.configureGlobal({ seed: Number(process.env["GT_SEED"] ?? 20_261_122) });

export { fc };
