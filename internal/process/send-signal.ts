/**
 * Sends a signal to the process with this id, or, if `target` is negative, to the process group `-target`. False if no
 * such process may be signalled.
 */
export function sendSignal(target: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(target, name);
  } catch {
    return false;
  }
}
