const CODES: ReadonlySet<unknown> = new Set(["EAGAIN", "EMFILE", "ENFILE", "ENOMEM"]);

/**
 * A program could not be started because processes, files or memory have run out, by the agent's doing perhaps: that
 * may pass.
 */
export function isWantOfRoom(err: unknown): boolean {
  return CODES.has((err as NodeJS.ErrnoException).code);
}
