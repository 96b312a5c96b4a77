/** Kills processes that restart under another pid, each process once. */
export class KillOnce {
  #killed = 0;

  /** False: the process is unknown (0), was killed before, or has ended by itself. */
  kill(pid: number): boolean {
    if (pid === 0 || pid === this.#killed) return false;
    this.#killed = pid;
    try {
      process.kill(pid, "SIGKILL");
      return true;
    } catch {
      return false;
    }
  }
}
