import fc from "fast-check";

/** Every run generates the same cases, so that a failure is reproducible; GT_SEED tries others. */
fc.configureGlobal({ seed: Number(process.env["GT_SEED"] ?? 20_261_122) });

export { fc };
