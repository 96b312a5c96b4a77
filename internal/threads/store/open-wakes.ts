import { OPEN_STATES } from "../domain/types.ts";

/** `OPEN_STATES` as an SQL list. It has to match the condition of the unique index on `threads.wake`. */
export const OPEN = `(${OPEN_STATES.map((state) => `'${state}'`).join(", ")})`;
