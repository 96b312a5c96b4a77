/** Makes a terminal echo and edit its input again. Does nothing if the terminal is gone. */
export function leaveRawMode(stdin: Pick<NodeJS.ReadStream, "setRawMode">): void {
  try {
    stdin.setRawMode(false);
  } catch {
    // The terminal is gone.
  }
}
