import { createHash } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type AgentTokens, TOKEN_FILE_VARIABLE } from "../../auth/agent-token.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { openPrivateFolder } from "../../files/private-folder.ts";
import { replaceSecret } from "../../files/replace-secret.ts";
import { openSharedFolder } from "../../files/shared-folder.ts";
import type { SessionConfig } from "../provider.ts";
import { agentAddressOf } from "../session-agent.ts";
import type { SessionKey, StartRequest } from "../session-backend.ts";

export interface SessionTokensDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tokens: AgentTokens;
  /** The owner of a project's files, as whom its agents run. Absent: the user of this process. */
  readonly ownerOf?: (project: string) => { readonly uid: number; readonly gid: number } | undefined;
}

type TokenSession = Pick<StartRequest, "project" | "id" | "agentOpts">;

/** A token is renewed at half of its lifetime; a failed renewal is retried this many times in the other half. */
const TRIES_LEFT = 20;

/**
 * Keeps a token file for each running session, of mode 0600 and always complete: it exists before the agent starts, is
 * replaced at half of the token's lifetime, and is removed when nothing of the session is left.
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
   * Creates the folder, private to this user unless files have other owners.
   * @throws DomainError `denied` if others may use it
   */
  static async open(deps: SessionTokensDeps, folder: string): Promise<SessionTokens> {
    if (deps.ownerOf === undefined) await openPrivateFolder(folder, process.getuid?.() ?? 0);
    else openSharedFolder(folder);
    return new SessionTokens(deps, folder);
  }

  /** The roles that an agent can have. */
  get roles(): readonly string[] {
    return this.#deps.tokens.roles;
  }

  /** Environment for the session's agent: the path of its token file. */
  environmentOf({
    project,
    sessionId: id,
  }: Pick<SessionConfig, "project" | "sessionId">): Readonly<Record<string, string>> {
    return { [TOKEN_FILE_VARIABLE]: join(this.#folder, nameOf({ project, id })) };
  }

  /** Writes the session's token at once and renews it until the result is disposed of, which removes the file. */
  keep(session: TokenSession): Disposable {
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

  /** Removes files that an earlier process left for sessions that no longer exist. */
  removeOthers(): void {
    for (const name of readdirSync(this.#folder)) {
      if (!this.#kept.has(name)) rmSync(join(this.#folder, name), { force: true });
    }
  }

  /** Writes the first token before any wait. If a token cannot be created, the previous one stays. */
  async #renew(session: TokenSession, path: string, signal: AbortSignal): Promise<void> {
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

  #write(session: TokenSession, path: string): void {
    const { project, id, agentOpts } = session;
    const agent = agentAddressOf(session);
    const token = this.#deps.tokens.mint({ workspace: project, agent, session: id, role: agentOpts["role"] });
    replaceSecret(path, token, this.#deps.ownerOf?.(project));
  }
}

/** A file name for any project and id. */
function nameOf({ project, id }: SessionKey): string {
  return createHash("sha256")
    .update(JSON.stringify([project, id]))
    .digest("hex")
    .slice(0, 32);
}
