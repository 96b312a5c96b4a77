import { randomUUID } from "node:crypto";
import { versionIn } from "../../agents/program-version.ts";
import { within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Redactor } from "../../base/redact.ts";
import type { ProviderHealth } from "../../bridge/provider.ts";
import { MARK_VARIABLE } from "../../process/children/marked-processes.ts";
import type { OrphanGuard } from "../../process/children/orphan-guard.ts";
import { lastWords } from "../../process/last-words.ts";
import { locateProgram } from "../../process/locate-program.ts";
import type { RunCommand } from "../../process/run-command.ts";
import type { UnixUser } from "../../process/users/unix-user.ts";

/** The longest that a caller waits: a version that comes later is there for the next caller. */
const PATIENCE_MS = 2_000;
const FRESH_MS = 60_000;
const MAX_BYTES = 16_384;

export interface ProgramOptions {
  readonly provider: string;
  readonly binary: string;
  /** Arguments before `--version`, e.g. the file that an interpreter runs. */
  readonly versionArgs: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The user to run it as. Default: this process's user. */
  readonly user?: UnixUser | undefined;
  /**
   * How long the program may take to start, and to report its version. On a busy machine, or before they are in memory,
   * some programs take longer than ten seconds.
   */
  readonly startupTimeoutMs: number;
}

interface HealthDeps {
  readonly clock: Clock;
  readonly run: RunCommand;
  /** Removes secrets from the output of a program that fails. */
  readonly redactor: Redactor;
  /** If this process ends, ends a program that has not answered yet. */
  readonly guard: Pick<OrphanGuard, "watch">;
}

/** Checks whether a provider's program exists and runs. Its version is queried at most once a minute. */
export class ProgramHealth {
  readonly #deps: HealthDeps;
  readonly #options: ProgramOptions;
  #asked: { readonly file: string; readonly at: number; readonly answer: Promise<ProviderHealth> } | undefined;
  /** The version that a program reported last, and its file. */
  #known = { file: "", version: "" };

  constructor(deps: HealthDeps, options: ProgramOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The program's file; undefined if there is no executable one. */
  locate(): string | undefined {
    return locateProgram(this.#options.binary, this.#options.env["PATH"] ?? "", this.#options.cwd);
  }

  /**
   * Resolves within two seconds, whatever the program does; if it is slow, with the version that it reported before.
   */
  async check(): Promise<ProviderHealth> {
    const file = this.locate();
    if (file === undefined) return unavailable(`no program ${JSON.stringify(this.#options.binary)} found`);
    const health = await within(this.#deps.clock, PATIENCE_MS, this.#answer(file));
    const version = this.#known.file === file ? this.#known.version : "";
    return health ?? { available: true, error: "", version };
  }

  #answer(file: string): Promise<ProviderHealth> {
    const now = this.#deps.clock.monotonicMs();
    if (this.#asked?.file === file && now - this.#asked.at < FRESH_MS) return this.#asked.answer;
    const answer = this.#ask(file);
    this.#asked = { file, at: now, answer };
    return answer;
  }

  async #ask(file: string): Promise<ProviderHealth> {
    const { cwd, versionArgs, startupTimeoutMs, user } = this.#options;
    const mark = randomUUID();
    const env = { ...this.#options.env, [MARK_VARIABLE]: mark };
    const watch = (group: number) => this.#deps.guard.watch(group, mark);
    const limits = { cwd, env, timeoutMs: startupTimeoutMs, maxBytes: MAX_BYTES, watch, user };
    const result = await this.#deps.run(file, [...versionArgs, "--version"], limits, new AbortController().signal);
    switch (result.type) {
      case "missing":
        return unavailable(`${file} cannot be executed: its interpreter is missing`);
      case "failed":
        return unavailable(`${file} --version ${result.reason}`);
      case "exit":
        if (result.code === 0) return this.#healthy(file, versionIn(result.stdout) ?? "");
        return unavailable(
          `${file} --version ended with ${result.code}${lastWords(result.stderr, this.#deps.redactor)}`,
        );
    }
  }

  #healthy(file: string, version: string): ProviderHealth {
    this.#known = { file, version };
    return { available: true, error: "", version };
  }
}

function unavailable(error: string): ProviderHealth {
  return { available: false, error, version: "" };
}
