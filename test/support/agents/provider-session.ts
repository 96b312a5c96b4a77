import { systemClock } from "../../../internal/base/clock.ts";
import type { Environment } from "../../../internal/base/environment.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../../../internal/base/redact.ts";
import type { AgentEvent, InputOutcome, Provider, SessionHandle } from "../../../internal/bridge/provider.ts";
import { runCommand } from "../../../internal/process/run-command.ts";
import { createStdioProviders } from "../../../internal/providers/stdio/create-providers.ts";
import type { ProgramConfig } from "../../../internal/providers/stdio/stdio-provider.ts";
import { usableArgs } from "../../../internal/providers/stdio/usable-args.ts";

export interface ProviderSetup {
  readonly provider: string;
  readonly binary: string;
  readonly leading?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Environment;
  readonly startupTimeoutMs?: number;
}

/** A provider that runs this program. */
export function makeProvider(setup: ProviderSetup): Provider {
  const program: ProgramConfig = {
    binary: setup.binary,
    leading: setup.leading ?? [],
    args: usableArgs(setup.provider, setup.args ?? []).args,
    startupTimeoutMs: setup.startupTimeoutMs ?? 50_000,
  };
  const env = setup.env ?? process.env;
  const redactor = new Redactor(DEFAULT_REDACT_PATTERNS);
  const deps = { clock: systemClock, run: runCommand, redactor, env, cwd: process.cwd() };
  const provider = createStdioProviders(deps, { [setup.provider]: program }).get(setup.provider);
  if (provider === undefined) throw new Error(`no provider ${setup.provider}`);
  return provider;
}

let sessions = 0;

/** One session and all its events so far. */
export class ProviderSession implements AsyncDisposable {
  readonly provider: Provider;
  readonly handle: SessionHandle;
  readonly events: AgentEvent[] = [];
  readonly read: Promise<void>;

  private constructor(provider: Provider, handle: SessionHandle, follow: boolean) {
    this.provider = provider;
    this.handle = handle;
    this.read = follow ? this.#follow() : Promise.resolve();
  }

  /** `follow` false: its events are not read. */
  static async start(
    provider: Provider,
    repoPath: string,
    options: Readonly<Record<string, string>> = {},
    follow = true,
  ): Promise<ProviderSession> {
    sessions++;
    const config = { project: "test", sessionId: `s-${sessions}`, repoPath, cwd: repoPath, options };
    const handle = await provider.start(config, new AbortController().signal);
    return new ProviderSession(provider, handle, follow);
  }

  /** All text on stdout so far. */
  get text(): string {
    return this.events
      .map((event) => (event.type === "output" && event.stream === "stdout" ? event.text : ""))
      .join("");
  }

  get phases(): readonly string[] {
    return this.events.flatMap((event) => (event.type === "phase" ? [event.state] : []));
  }

  get last(): AgentEvent | undefined {
    return this.events.at(-1);
  }

  send(text: string, requestId: string): Promise<InputOutcome> {
    return this.provider.send(this.handle, { text, requestId }, AbortSignal.timeout(60_000));
  }

  /** Waits until its events fulfil `isSeen`. */
  async until(what: string, isSeen: (session: this) => boolean, timeoutMs = 50_000): Promise<void> {
    for (const end = performance.now() + timeoutMs; !isSeen(this); ) {
      if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}; ${this.#summary()}`);
      await systemClock.sleep(15);
    }
  }

  /** Waits until `turns` turns have ended. */
  turns(turns: number): Promise<void> {
    return this.until(
      `the end of turn ${turns}`,
      ({ phases }) => phases.filter((phase) => phase === "idle").length > turns,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provider.stop(this.handle, 0);
    await this.read;
  }

  async #follow(): Promise<void> {
    for await (const event of this.provider.events(this.handle)) this.events.push(event);
  }

  #summary(): string {
    return JSON.stringify(this.events.slice(-12)).slice(0, 2000);
  }
}
