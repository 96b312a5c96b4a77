const CODES: ReadonlySet<unknown> = new Set(["EAGAIN", "EMFILE", "ENFILE", "ENOMEM"]);

/**
 * True if a program could not be started because processes, files or memory have run out. The agent may have caused the
 * shortage, and the shortage may pass.
 */
export function isWantOfRoom(err: unknown): boolean {
  return CODES.has((err as NodeJS.ErrnoException).code);
}
