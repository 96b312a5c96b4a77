import type { Clock } from "../../base/clock.ts";
import { listPids, readOrEmpty, statFields } from "../proc-files.ts";
import { processLives } from "../process-lives.ts";

const LOOK_EVERY_MS = 20;
const SLOWEST_LOOK_MS = 200;

/** The group that a process leads; it exists as long as one of its members does, even after the leader has ended. */
export class ProcessGroup {
  readonly #clock: Clock;
  readonly #id: number;
  /** Once true, the id may belong to another group. */
  #isGone = false;

  constructor(clock: Clock, id: number) {
    this.#clock = clock;
    this.#id = id;
  }

  /** Sends the signal to all members; a group that no longer exists is not an error. */
  signal(name: "SIGTERM" | "SIGKILL"): void {
    if (this.#isGone) return;
    try {
      process.kill(-this.#id, name);
    } catch {
      // It has gone.
    }
  }

  /** True while a member is running. Zombies do not count. */
  lives(): boolean {
    this.#isGone ||= !this.#hasLivingMember();
    return !this.#isGone;
  }

  /** Resolves with true once no member is running, with false after `ms`. */
  async gone(ms: number): Promise<boolean> {
    const end = this.#clock.monotonicMs() + ms;
    let pause = LOOK_EVERY_MS;
    while (this.lives()) {
      const left = end - this.#clock.monotonicMs();
      if (left <= 0) return false;
      await this.#clock.sleep(Math.min(pause, left));
      pause = Math.min(SLOWEST_LOOK_MS, pause * 1.5);
    }
    return true;
  }

  #hasLivingMember(): boolean {
    try {
      process.kill(-this.#id, 0);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== "EPERM") return false;
    }
    // The leader first: a scan of all processes takes milliseconds.
    return process.platform !== "linux" || processLives(this.#id) || hasLivingMember(String(this.#id));
  }
}

/** Reads /proc/PID/stat, in which state, parent and group follow the name. */
function hasLivingMember(group: string): boolean {
  return listPids().some((pid) => {
    const [state, , itsGroup] = statFields(readOrEmpty(`/proc/${pid}/stat`));
    return itsGroup === group && state !== "Z" && state !== "X";
  });
}
