/** Sends a signal to a process, or to a group by its negative number; false if there is none that may be signalled. */
export function sendSignal(target: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(target, name);
  } catch {
    return false;
  }
}
