import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, ftruncateSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { openPlainFile, readPlainFileSync } from "../../files/plain-file.ts";
import { replaceSecret } from "../../files/replace-secret.ts";
import type { InnerCommand } from "./front-command.ts";
import type { FrontPaths } from "./front-paths.ts";
import { attend } from "./presence.ts";

/** A start takes half a second on an idle machine, and minutes on an overloaded one. */
const START_LIMIT_MS = 180_000;
const LOOK_EVERY_MS = 20;
/** How long to wait for the record of another launcher that has started the front. */
const RECORD_LIMIT_MS = 60_000;
const MAX_LOG_BYTES = 1024 * 1024;
/** The exit code of a front that finds another one running. */
export const ANOTHER_RUNS = 75;

export interface FrontStart {
  readonly place: FrontPaths;
  /** The launcher appends one argument: a name for this start. */
  readonly command: InnerCommand;
  /** A file that no front can write; it contains the record of the running front. */
  readonly recordPath: string;
  /** Describes the start of a front, e.g. its isolation; a running front with another record is not used. */
  readonly record: string;
}

/** Finds the running front of a state folder, or starts one, which outlives this process. */
export class FrontLauncher implements Disposable {
  readonly #clock: Clock;
  readonly #start: FrontStart;
  #attended: (Disposable & { readonly isGone: boolean }) | undefined;

  constructor(clock: Clock, start: FrontStart) {
    this.#clock = clock;
    this.#start = start;
  }

  /**
   * Resolves once the front can be called. The front keeps running at least until this launcher is disposed of.
   * @returns true if this call started it
   * @throws DomainError `unavailable` when it does not start, or a front with another record is running
   */
  async ensure(signal: AbortSignal): Promise<boolean> {
    if (this.#attended?.isGone === false) return false;
    const isBegun = !(await this.#attend()) && (await this.#begin(signal));
    if (!isBegun) await this.#checkRecord(signal);
    return isBegun;
  }

  [Symbol.dispose](): void {
    this.#attended?.[Symbol.dispose]();
  }

  async #attend(): Promise<boolean> {
    try {
      this.#attended = await attend(this.#start.place.presence);
      return true;
    } catch {
      return false;
    }
  }

  /** False: another launcher was faster. */
  async #begin(signal: AbortSignal): Promise<boolean> {
    const { place, command, record, recordPath } = this.#start;
    const { program, args, env, cwd } = command;
    const log = openLog(place.log);
    const name = randomUUID();
    const child = spawn(program, [...args, name], { env, cwd, stdio: ["ignore", log, log], detached: true });
    closeSync(log);
    child.unref();
    let ended: number | undefined;
    child.on("error", () => (ended ??= 1)).once("exit", (code) => (ended = code ?? 1));
    const until = this.#clock.monotonicMs() + START_LIMIT_MS;
    while (!(await this.#attend())) {
      const isOver = this.#clock.monotonicMs() > until;
      if (isOver || (ended !== undefined && ended !== ANOTHER_RUNS)) throw notStarted(place, ended);
      await this.#clock.sleep(LOOK_EVERY_MS, signal);
    }
    if (readPlainFileSync(place.started, MAX_LOG_BYTES) !== name) return false;
    replaceFile(recordPath, record);
    return true;
  }

  /** A front with another record is not used: its isolation could be weaker than this start requests. */
  async #checkRecord(signal: AbortSignal): Promise<void> {
    const { record, recordPath } = this.#start;
    const until = this.#clock.monotonicMs() + RECORD_LIMIT_MS;
    let found = readPlainFileSync(recordPath, MAX_LOG_BYTES);
    while (found === undefined && this.#clock.monotonicMs() < until) {
      await this.#clock.sleep(LOOK_EVERY_MS, signal);
      found = readPlainFileSync(recordPath, MAX_LOG_BYTES);
    }
    if (found === record) return;
    this.#attended?.[Symbol.dispose]();
    throw new DomainError(
      "unavailable",
      `the customer's side is already running, started differently: ${found ?? "unknown"}`,
      {
        fields: { hint: `this start asks for ${record}; the other ends a minute after its last caller has left` },
      },
    );
  }
}

/**
 * Writes a file atomically, readable only for its owner. Two processes that start at the same time may both write it.
 */
export function replaceFile(path: string, text: string): void {
  if (readPlainFileSync(path, MAX_LOG_BYTES) === text) return;
  replaceSecret(path, text);
}

function openLog(path: string): number {
  const fd = openPlainFile(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT);
  if (fstatSync(fd).size > MAX_LOG_BYTES) ftruncateSync(fd, 0);
  return fd;
}

function notStarted({ log }: FrontPaths, code: number | undefined): DomainError {
  const how = code === undefined ? "it does not answer" : `it ended with ${code}`;
  return new DomainError("unavailable", `cannot start the customer's side: ${how}`, {
    fields: { hint: `its log is ${log}` },
  });
}
