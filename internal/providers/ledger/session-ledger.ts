import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { SessionConfig } from "../../bridge/provider.ts";
import type { StartRequest } from "../../bridge/session-backend.ts";
import type { TerminalSurvivor } from "../../bridge/terminal-launcher.ts";
import { killMarked } from "../../process/marked-processes.ts";
import { lostTerminal } from "./lost-terminal.ts";
import { MARKER } from "./session-marker.ts";
import { replaceStateFile } from "./state-file.ts";

interface LedgerEntry {
  readonly version: 1;
  readonly createdAt: number;
  readonly request: StartRequest;
}

export interface SessionLedgerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The running sessions over standard streams, as files. The sessions end with this process; if it is killed, the next
 * process ends and reports them.
 */
export class SessionLedger {
  readonly #deps: SessionLedgerDeps;
  readonly #folder: string;

  /** `folder`: accessible only to this user; created if it is missing. */
  constructor(deps: SessionLedgerDeps, folder: string) {
    this.#deps = deps;
    this.#folder = folder;
  }

  /** The variables in the environment of a session's processes, by which they are found even outside their group. */
  environmentOf(session: SessionKeyOf): Readonly<Record<string, string>> {
    return { [MARKER]: this.#markerOf(session) };
  }

  /** Call this before anything of the session is started. @throws DomainError `unavailable` if it cannot be recorded */
  begin(provider: string, { project, sessionId: id, repoPath, options, asked }: SessionConfig): void {
    const { agentOpts, createdAt } = asked ?? { agentOpts: options, createdAt: this.#deps.clock.now() };
    const entry: LedgerEntry = { version: 1, createdAt, request: { project, id, provider, repoPath, agentOpts } };
    replaceStateFile(this.#pathOf({ project, sessionId: id }), JSON.stringify(entry));
  }

  /** Removes a session that has ended, and ends the processes that it left behind. */
  end(session: SessionKeyOf): void {
    killMarked(MARKER, this.#markerOf(session));
    rmSync(this.#pathOf(session), { force: true });
  }

  /** Ends and returns the sessions of an earlier process: none is running any more when this returns. */
  lost(): readonly TerminalSurvivor[] {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    return readdirSync(this.#folder).flatMap((name) => {
      const entry = entryIn(join(this.#folder, name));
      if (entry === undefined) {
        rmSync(join(this.#folder, name), { force: true });
        return [];
      }
      const { request, createdAt } = entry;
      const { project, id: sessionId, provider, repoPath, agentOpts: options } = request;
      this.end({ project, sessionId });
      this.#deps.logger.warn(
        { session: sessionId, project },
        "a session of an earlier bridge has ended with that bridge",
      );
      const config = { project, sessionId, provider, repoPath, cwd: repoPath, options, createdAt, request };
      return [{ config, launched: lostTerminal(config, this.#deps.clock.now()), isLost: true }];
    });
  }

  #pathOf(session: SessionKeyOf): string {
    return join(this.#folder, `${this.#markerOf(session).slice(0, 32)}.json`);
  }

  #markerOf({ project, sessionId }: SessionKeyOf): string {
    return createHash("sha256")
      .update(JSON.stringify([this.#folder, project, sessionId]))
      .digest("hex");
  }
}

type SessionKeyOf = Pick<SessionConfig, "project" | "sessionId">;

function entryIn(path: string): LedgerEntry | undefined {
  try {
    const { version, request, createdAt } = JSON.parse(readFileSync(path, "utf8")) as Partial<LedgerEntry>;
    const isWhole = version === 1 && typeof request?.id === "string" && typeof createdAt === "number";
    return isWhole ? { version, request, createdAt } : undefined;
  } catch {
    return undefined;
  }
}
