/** Has a terminal show and edit its input again; a terminal that is gone needs nothing. */
export function leaveRawMode(stdin: Pick<NodeJS.ReadStream, "setRawMode">): void {
  try {
    stdin.setRawMode(false);
  } catch {
    // The terminal is gone.
  }
}
