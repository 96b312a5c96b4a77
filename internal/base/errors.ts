/** The kind of a failure; each maps to one RPC code (`internal/rpc/common/errors.ts`) and back. */
export type ErrorKind =
  | "invalid" // the request itself is wrong and will be wrong again
  | "not-found"
  | "already-exists"
  | "precondition" // right request, wrong moment: stale epoch, dialog gone
  | "exhausted" // a limit of ours is reached: queue full, message too large
  | "unauthenticated"
  | "denied"
  | "unavailable" // may work when tried again
  | "deadline"
  | "cancelled"
  | "unimplemented";

export type ErrorFields = Readonly<Record<string, string | number | boolean>>;

/**
 * A failure whose text may be shown to the caller. Everything else that is thrown is a bug: logged with its stack and
 * answered as "internal error". Wording: the action and the value, lower case, no full stop.
 */
export class DomainError extends Error {
  readonly kind: ErrorKind;
  /** Facts for programs (sent as error details); never what was typed or printed in a terminal. */
  readonly fields: ErrorFields;
  readonly #lines: readonly string[];

  constructor(
    kind: ErrorKind,
    message: string,
    options: { fields?: ErrorFields | undefined; lines?: readonly string[]; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.kind = kind;
    this.fields = options.fields ?? {};
    this.#lines = options.lines ?? [];
  }

  /**
   * Every fault that the message counts: programs print the faults before the message, one per line. Not part of logs.
   */
  get lines(): readonly string[] {
    return this.#lines;
  }
}

/** The text of anything that was thrown, for a log line or a wrapped message. */
export function errorText(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}

/** An error, its causes, and the members of an aggregated one: at most 10, since causes may form a loop. */
export function causesOf(err: unknown): readonly Error[] {
  const found: Error[] = [];
  const pending = [err];
  while (pending.length > 0 && found.length < 10) {
    const next = pending.shift();
    if (!(next instanceof Error)) continue;
    found.push(next);
    if (next instanceof AggregateError) pending.push(...next.errors);
    pending.push(next.cause);
  }
  return found;
}

/** The code that the system, Node or OpenSSL gave an error; empty: none. */
export function codeOf(err: unknown): string {
  const code: unknown = typeof err === "object" && err !== null && "code" in err ? err.code : undefined;
  return typeof code === "string" ? code : "";
}

/** True if connect(2) failed, for any reason: no connection was made. */
export function isConnectFailure(err: unknown): boolean {
  return typeof err === "object" && err !== null && "syscall" in err && err.syscall === "connect";
}

/** `errorText`, followed by the hint of a DomainError: for output that has one line for both. */
export function errorTextWithHint(err: unknown): string {
  const hint = err instanceof DomainError ? err.fields["hint"] : undefined;
  return typeof hint === "string" ? `${errorText(err)}; ${hint}` : errorText(err);
}
