import { spawn } from "node:child_process";
import { closeSync, constants, fstatSync, ftruncateSync, renameSync, writeFileSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { openPlainFile, readPlainFileSync } from "../../files/plain-file.ts";
import type { InnerCommand } from "./front-command.ts";
import type { FrontPlace } from "./front-place.ts";
import { attend } from "./presence.ts";

/** On a machine with nothing else to do it takes half a second. */
const START_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 20;
const MAX_LOG_BYTES = 1024 * 1024;
/** The exit code of a front that found another one running. */
export const ANOTHER_RUNS = 75;

/** Finds the front of a state folder, or begins it; it outlives this process. */
export class FrontLauncher implements Disposable {
  readonly #clock: Clock;
  readonly #place: FrontPlace;
  readonly #command: InnerCommand;
  #attended: (Disposable & { readonly isGone: boolean }) | undefined;

  constructor(clock: Clock, place: FrontPlace, command: InnerCommand) {
    this.#clock = clock;
    this.#place = place;
    this.#command = command;
  }

  /**
   * Resolves once the front can be called; it stays for as long as this is not disposed of.
   * @returns true if it was begun now
   * @throws DomainError `unavailable` when it does not start
   */
  async ensure(signal: AbortSignal): Promise<boolean> {
    if (this.#attended?.isGone === false) return false;
    if (await this.#attend()) return false;
    await this.#start(signal);
    return true;
  }

  [Symbol.dispose](): void {
    this.#attended?.[Symbol.dispose]();
  }

  async #attend(): Promise<boolean> {
    try {
      this.#attended = await attend(this.#place.presence);
      return true;
    } catch {
      return false;
    }
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { program, args, env, cwd } = this.#command;
    const log = openLog(this.#place.log);
    const child = spawn(program, args, { env, cwd, stdio: ["ignore", log, log], detached: true });
    closeSync(log);
    child.unref();
    let ended: number | undefined;
    child.once("error", () => (ended = 1)).once("exit", (code) => (ended = code ?? 1));
    const until = this.#clock.monotonicMs() + START_LIMIT_MS;
    while (!(await this.#attend())) {
      const isOver = this.#clock.monotonicMs() > until;
      if (isOver || (ended !== undefined && ended !== ANOTHER_RUNS)) throw notStarted(this.#place, ended);
      await this.#clock.sleep(LOOK_EVERY_MS, signal);
    }
  }
}

/** Writes a file whole or not at all, for its owner alone. */
export function replaceFile(path: string, text: string): void {
  if (readPlainFileSync(path, MAX_LOG_BYTES) === text) return;
  writeFileSync(`${path}.next`, text, { mode: 0o600 });
  renameSync(`${path}.next`, path);
}

function openLog(path: string): number {
  const fd = openPlainFile(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT);
  if (fstatSync(fd).size > MAX_LOG_BYTES) ftruncateSync(fd, 0);
  return fd;
}

function notStarted({ log }: FrontPlace, code: number | undefined): DomainError {
  const how = code === undefined ? "it does not answer" : `it ended with ${code}`;
  return new DomainError("unavailable", `cannot start the customer's side: ${how}`, {
    fields: { hint: `its log is ${log}` },
  });
}
