import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TerminalConfig } from "../../bridge/terminal-launcher.ts";
import { replaceStateFile } from "../ledger/state-file.ts";

/** What a later daemon has to know of a session to find it again. */
export interface TerminalRecord {
  readonly version: 1;
  readonly config: TerminalConfig;
  /** In the environment of every process of the session. */
  readonly marker: string;
  /** Of the sidecar; 0: it was about to be started. */
  readonly pid: number;
  /** Tells the process from a later one with its pid; empty: not known. */
  readonly startedAt: string;
}

/** Names are short: the paths of the sockets below are bounded. */
const NAME_CHARS = 10;
const RECORD = "session.json";

/** The folder of one session, below that of all. */
export class TerminalFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  static of(all: string, { project, sessionId }: Pick<TerminalConfig, "project" | "sessionId">): TerminalFolder {
    const name = createHash("sha256")
      .update(JSON.stringify([project, sessionId]))
      .digest("hex");
    return new TerminalFolder(join(all, name.slice(0, NAME_CHARS)));
  }

  /** Those that there are. */
  static list(all: string): readonly TerminalFolder[] {
    mkdirSync(all, { recursive: true, mode: 0o700 });
    return readdirSync(all).map((name) => new TerminalFolder(join(all, name)));
  }

  get socket(): string {
    return join(this.path, "rpc.sock");
  }

  get healthSocket(): string {
    return join(this.path, "health.sock");
  }

  get stateDir(): string {
    return join(this.path, "s");
  }

  /** Where the agent's own terminal server listens while it is running. */
  get tmuxSocket(): string {
    return join(this.stateDir, "tmux.sock");
  }

  get log(): string {
    return join(this.path, "sidecar.log");
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Undefined: none that can be read. */
  read(): TerminalRecord | undefined {
    try {
      const record = JSON.parse(readFileSync(join(this.path, RECORD), "utf8")) as Partial<TerminalRecord>;
      return isRecord(record) ? record : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * The folder is made, for this user alone. It holds the whole record or the one before, whenever the process ends.
   * @throws DomainError as `replaceStateFile`
   */
  write(record: TerminalRecord): void {
    replaceStateFile(join(this.path, RECORD), JSON.stringify(record));
  }
}

function isRecord(value: Partial<TerminalRecord>): value is TerminalRecord {
  const { version, config, marker, pid, startedAt } = value;
  const isKnown = version === 1 && typeof marker === "string" && marker !== "" && typeof startedAt === "string";
  return isKnown && Number.isSafeInteger(pid) && typeof config?.request?.id === "string";
}
