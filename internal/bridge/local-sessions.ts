import { aborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { Redactor } from "../base/redact.ts";
import type { Task } from "../base/task-group.ts";
import type { Provider } from "./provider.ts";
import type {
  EventFeed,
  InputResult,
  ProviderInfo,
  SessionBackend,
  SessionChange,
  SessionInfo,
  SessionTerminal,
} from "./session-backend.ts";
import type { TerminalLauncher } from "./terminal-launcher.ts";

export interface LocalSessionsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Takes secrets out of event texts. */
  readonly redactor: Redactor;
  /** Those of the configuration. */
  readonly providers: readonly Provider[];
  /** Absent: no provider has the mode `terminal` here. */
  readonly terminals?: TerminalLauncher;
}

/** `sessions` and `allowed_paths` of the configuration; times in ms. */
export interface LocalSessionsOptions {
  readonly maxPerProject: number;
  readonly maxGlobal: number;
  /** A session without input and output for this long is stopped. */
  readonly idleTimeoutMs: number;
  readonly stopGraceMs: number;
  /** A session that has ended is kept for this long, with its events. */
  readonly retentionMs: number;
  /** Events that are held of one session, and their bytes. */
  readonly eventBuffer: number;
  readonly eventBytes: number;
  /** Absolute; a segment `*` stands for any one segment. */
  readonly allowedPaths: readonly string[];
}

/** Sessions on this host. Starts are taken while `run` goes on; when it is told to stop, it stops all sessions first. */
export class LocalSessions implements SessionBackend, Task {
  readonly #deps: LocalSessionsDeps;

  constructor(deps: LocalSessionsDeps, _options: LocalSessionsOptions) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    this.#deps.logger.info("no sessions are left");
  }

  start(): Promise<SessionInfo> {
    throw notYet();
  }

  stop(): Promise<SessionInfo> {
    throw notYet();
  }

  get(): SessionInfo | undefined {
    return undefined;
  }

  list(): readonly SessionInfo[] {
    return [];
  }

  changes(): AsyncIterable<SessionChange> {
    throw notYet();
  }

  labelsOf({ agent, provider }: SessionInfo): Readonly<Record<string, string>> {
    return { "gastown.io/agent": agent, "gastown.io/provider": provider };
  }

  sendInput(): Promise<InputResult> {
    throw notYet();
  }

  events(): Promise<EventFeed> {
    throw notYet();
  }

  ack(): Promise<void> {
    throw notYet();
  }

  terminal(): SessionTerminal {
    throw notYet();
  }

  providers(): Promise<readonly ProviderInfo[]> {
    throw notYet();
  }
}

function notYet(): DomainError {
  return new DomainError("unimplemented", "sessions on this host are not there yet");
}
