import { OPEN_STATES } from "../domain/types.ts";

/** The states of a wake that has not ended, as a list of SQL: that of the unique index on `threads.wake`. */
export const OPEN = `(${OPEN_STATES.map((state) => `'${state}'`).join(", ")})`;
