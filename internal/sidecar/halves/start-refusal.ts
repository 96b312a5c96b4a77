import { DomainError } from "../../base/errors.ts";

/** Exit code of a serving half that the supervising half started and that cannot begin with these flags. */
const BAD_FLAGS = 78;
/** Like `BAD_FLAGS`, for one that cannot listen on its address. */
const NO_ADDRESS = 75;

/** The exit code of the whole sidecar, by that of a serving half whose start would fail the same way again. */
export const REFUSAL_EXIT_CODES: ReadonlyMap<number, number> = new Map([
  [BAD_FLAGS, 2],
  [NO_ADDRESS, 1],
]);

/**
 * The exit code by which the supervising half learns why its serving half did not begin; undefined if another attempt
 * may help.
 */
export function startRefusal(err: unknown): number | undefined {
  if (!(err instanceof DomainError)) return undefined;
  if (err.fields["reason"] === "listen") return NO_ADDRESS;
  return err.fields["reason"] === "flags" ? BAD_FLAGS : undefined;
}

/** Returns the result of `read`, and marks its errors as a start that cannot succeed. */
export function asRefusal<T>(read: () => T): T {
  try {
    return read();
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    throw new DomainError(err.kind, err.message, { fields: { ...err.fields, reason: "flags" }, cause: err });
  }
}
