import { createHash } from "node:crypto";
import { chownSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentTokens, TOKEN_FILE_VARIABLE } from "../../auth/agent-token.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { openPrivateFolder } from "../../files/private-folder.ts";
import { openSharedFolder } from "../../files/shared-folder.ts";
import type { SessionConfig } from "../provider.ts";
import type { SessionKey } from "../session-backend.ts";

export interface SessionTokensDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tokens: AgentTokens;
  /** Whose a project's files are, which agents of that user read. Absent: this process's user's. */
  readonly ownerOf?: (project: string) => { readonly uid: number; readonly gid: number } | undefined;
}

/** Renewed at half of its life; a renewal that failed is tried again this often in what is left. */
const TRIES_LEFT = 20;

/**
 * A file with a token of its own for each session that runs, mode 0600 and always whole: it is there before the agent
 * starts, is replaced at half of the token's life, and is gone when nothing of the session is left.
 */
export class SessionTokens {
  readonly #deps: SessionTokensDeps;
  readonly #folder: string;
  readonly #kept = new Set<string>();

  private constructor(deps: SessionTokensDeps, folder: string) {
    this.#deps = deps;
    this.#folder = folder;
  }

  /**
   * Makes the folder, for this user alone unless files have owners.
   * @throws DomainError `denied` when others may use it
   */
  static async open(deps: SessionTokensDeps, folder: string): Promise<SessionTokens> {
    if (deps.ownerOf === undefined) await openPrivateFolder(folder, process.getuid?.() ?? 0);
    else openSharedFolder(folder);
    return new SessionTokens(deps, folder);
  }

  /** For the session's agent: where its token is. */
  environmentOf({
    project,
    sessionId: id,
  }: Pick<SessionConfig, "project" | "sessionId">): Readonly<Record<string, string>> {
    return { [TOKEN_FILE_VARIABLE]: join(this.#folder, nameOf({ project, id })) };
  }

  /** Writes the session's token at once and renews it until it is disposed of, which removes the file. */
  keep(session: SessionKey): Disposable {
    const name = nameOf(session);
    const over = new AbortController();
    this.#kept.add(name);
    void this.#renew(session, join(this.#folder, name), over.signal);
    return {
      [Symbol.dispose]: () => {
        over.abort();
        this.#kept.delete(name);
        rmSync(join(this.#folder, name), { force: true });
      },
    };
  }

  /** Removes what an earlier process has left of sessions that are not kept here. */
  removeOthers(): void {
    for (const name of readdirSync(this.#folder)) {
      if (!this.#kept.has(name)) rmSync(join(this.#folder, name), { force: true });
    }
  }

  /** The first token is written before any wait. If none can be created, the previous one stays. */
  async #renew(session: SessionKey, path: string, signal: AbortSignal): Promise<void> {
    const { clock, logger, tokens } = this.#deps;
    const halfLifeMs = tokens.ttlMs / 2;
    while (!signal.aborted) {
      let waitMs = halfLifeMs;
      try {
        this.#write(session, path);
      } catch (err) {
        logger.error({ err, project: session.project, session: session.id }, "cannot renew a session's token");
        waitMs = halfLifeMs / TRIES_LEFT;
      }
      await clock.sleep(waitMs, signal).catch(() => {});
    }
  }

  #write({ project, id }: SessionKey, path: string): void {
    const agent = `${project}/${id}`;
    const token = this.#deps.tokens.mint({ workspace: project, agent, session: id });
    const next = `${path}.new`;
    rmSync(next, { force: true });
    writeFileSync(next, token, { mode: 0o600, flag: "wx" });
    const owner = this.#deps.ownerOf?.(project);
    if (owner !== undefined) chownSync(next, owner.uid, owner.gid);
    renameSync(next, path);
  }
}

/** A file's name for any project and id. */
function nameOf({ project, id }: SessionKey): string {
  return createHash("sha256")
    .update(JSON.stringify([project, id]))
    .digest("hex")
    .slice(0, 32);
}
