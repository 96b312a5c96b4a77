import { createHash } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import { basename, join } from "node:path";
import { within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { TerminalConfig } from "../../bridge/terminal-launcher.ts";
import { PinnedFolder } from "../../files/pinned-folder.ts";
import { removeTree } from "../../files/remove-tree.ts";
import type { UnixUser } from "../../process/users/unix-user.ts";
import { replaceStateFile } from "../ledger/state-file.ts";

/** Everything that a later daemon needs to find a session again. */
export interface TerminalRecord {
  readonly version: 1;
  readonly config: TerminalConfig;
  /** In the environment of every process of the session. */
  readonly marker: string;
  /** The sidecar's pid; 0: it was about to be started. */
  readonly pid: number;
  /** Distinguishes the process from a later one with its pid; empty: unknown. */
  readonly startedAt: string;
  /** Absent: the session runs as this process's user, with all its files in the folder of the record. */
  readonly apart?: Apart | undefined;
}

/** The user that a session runs as, and the parent of other users' session folders. */
export interface Apart {
  readonly user: UnixUser;
  readonly places: string;
}

const SOCKET = "rpc.sock";
const STATE = "s";
/** Each round removes a thousand entries. */
const REMOVE_ROUNDS = 50;
/** Names are short, because the length of a socket's path is limited. */
const NAME_CHARS = 10;
/** The longest path of a socket below the common folder. */
export const LONGEST_SOCKET = `${"X".repeat(NAME_CHARS)}/${STATE}/control.sock`;
const RECORD = "session.json";
/** The socket of a killed server accepts connections until the kernel closes it; a running server keeps them open. */
const KEPT_MS = 500;

/**
 * The folder of one session, below the common folder. Record and log belong to this process's user. The sidecar's files
 * are beside them or, if it runs as another user, in a folder of that user, from which no link is followed.
 */
export class TerminalFolder {
  readonly path: string;
  readonly apart: Apart | undefined;

  private constructor(path: string, apart?: Apart) {
    this.path = path;
    this.apart = apart;
  }

  /** `apart`: the user that the session runs as, and the parent of other users' session folders. */
  static of(
    all: string,
    { project, sessionId }: Pick<TerminalConfig, "project" | "sessionId">,
    apart?: Apart,
  ): TerminalFolder {
    const name = createHash("sha256")
      .update(JSON.stringify([project, sessionId]))
      .digest("hex");
    return new TerminalFolder(join(all, name.slice(0, NAME_CHARS)), apart);
  }

  /** The folders that exist. */
  static list(all: string): readonly TerminalFolder[] {
    mkdirSync(all, { recursive: true, mode: 0o700 });
    return readdirSync(all).map((name) => {
      const folder = new TerminalFolder(join(all, name));
      return new TerminalFolder(folder.path, folder.read()?.apart);
    });
  }

  get socket(): string {
    return join(this.#place, SOCKET);
  }

  get healthSocket(): string {
    return join(this.#place, "health.sock");
  }

  get stateDir(): string {
    return join(this.#place, STATE);
  }

  get log(): string {
    return join(this.path, "sidecar.log");
  }

  /** Connects to the session's sidecar. */
  dial(): Socket {
    return this.#connect([], SOCKET);
  }

  /** True, after KEPT_MS, if the agent's own terminal server is running. */
  async hasServer(clock: Clock): Promise<boolean> {
    const socket = this.#connect([STATE], "tmux.sock");
    const closed = new Promise<false>((resolve) => {
      socket.on("error", () => {}).once("close", () => resolve(false));
    });
    socket.resume(); // otherwise the server's end is not noticed
    const answer = await within(clock, KEPT_MS, closed);
    socket.destroy();
    return answer ?? true;
  }

  /** Creates the sidecar's folder, which only its user may enter. */
  makePlace(): void {
    if (this.apart === undefined) return;
    const { uid, gid } = this.apart.user;
    mkdirSync(this.#place, { mode: 0o700 });
    chownSync(this.#place, uid, gid);
  }

  remove(): void {
    if (this.apart !== undefined) this.#removePlace(this.apart);
    removeTree(this.path, 3);
  }

  get #place(): string {
    return this.apart === undefined ? this.path : join(this.apart.places, basename(this.path));
  }

  /** Removes the sidecar's folder by descriptors, because the user may put links in its place meanwhile. */
  #removePlace({ places }: Apart): void {
    using all = PinnedFolder.at(places, { strict: false });
    for (let i = 0; i < REMOVE_ROUNDS && existsSync(this.#place); i++) all.remove(basename(this.path));
  }

  /** Connects to a socket only if it belongs to the session's user, so that no other user's can be put in its place. */
  #connect(folders: readonly string[], name: string): Socket {
    if (this.apart === undefined) return createConnection(join(this.path, ...folders, name));
    using stack = new DisposableStack();
    try {
      const place = stack.use(PinnedFolder.at(this.#place, { strict: false }));
      const folder = folders.reduce((above, each) => stack.use(above.inside(each)), place);
      const { path } = stack.use(folder.nameSocket(name));
      if (statSync(path).uid === this.apart.user.uid) return createConnection(path);
    } catch {
      // the socket does not exist, or is not what it should be
    }
    return createConnection(join(this.path, "no-socket"));
  }

  /** Undefined if there is no readable record. */
  read(): TerminalRecord | undefined {
    try {
      const record = JSON.parse(readFileSync(join(this.path, RECORD), "utf8")) as Partial<TerminalRecord>;
      return isRecord(record) ? record : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Creates the folder, for this user only, and replaces the record atomically.
   * @throws DomainError `unavailable` if the system refuses
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
