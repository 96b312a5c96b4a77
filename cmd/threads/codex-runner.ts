import { randomUUID } from "node:crypto";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { codexArgs } from "../../internal/agents/thread-tools.ts";
import { TOKEN_FILE_VARIABLE } from "../../internal/auth/agent-token.ts";
import { within } from "../../internal/base/abort.ts";
import type { Clock } from "../../internal/base/clock.ts";
import type { Environment } from "../../internal/base/environment.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { ownProgram } from "../../internal/cli/own-program.ts";
import { lockFolders } from "../../internal/files/folder-lock.ts";
import { openPrivateFolder } from "../../internal/files/private-folder.ts";
import { replaceSecret } from "../../internal/files/replace-secret.ts";
import { AgentProcess, type OutputSink, type ProcessEnd } from "../../internal/process/children/agent-process.ts";
import { MARK_VARIABLE, MarkedProcesses } from "../../internal/process/children/marked-processes.ts";
import { OrphanGuard } from "../../internal/process/children/orphan-guard.ts";
import { locateProgram } from "../../internal/process/locate-program.ts";
import { codexDialect } from "../../internal/providers/dialects/codex-dialect.ts";
import { agentEnvironment } from "../../internal/providers/stdio/agent-environment.ts";
import type {
  ConversationTurn,
  TakenConversation,
  TurnRunner,
  WakeReceipt,
} from "../../internal/threads/domain/runtimes.ts";
import { type FreeConversation, findFree } from "./codex-conversation.ts";

export interface CodexRunnerOptions {
  readonly clock: Clock;
  /** This process's environment; Codex gets the part of it that every Codex of a bridge gets. */
  readonly env: Environment;
  /** The only workspace whose agents have conversations here. */
  readonly workspace: string;
  /** A folder of its own, for the tokens of turns. */
  readonly folder: string;
  /** The variables that tell the agent's tools where the server is. */
  readonly server: () => Promise<Readonly<Record<string, string>>>;
  readonly mint: (turn: ConversationTurn, ttlMs: number) => string;
}

const TURN_MS = 10 * 60_000;
/** A token is valid a little longer than its turn may take. */
const TOKEN_MS = TURN_MS + 60_000;
const STOP_MS = 3000;
/** Far more than any wake's line. */
const MAX_TEXT_BYTES = 64 * 1024;
/** Drops the output of Codex, which Codex also stores in the conversation. */
const UNHEARD: OutputSink = { stdout: () => {}, stderr: () => {}, abandoned: () => {}, muted: () => {} };

/**
 * Continues conversations that this user has with Codex, each in its own folder, with `codex exec resume`: one at a
 * time on this machine. Nothing of a turn outlives this process, however this process ends.
 */
export class CodexRunner implements TurnRunner {
  readonly #options: CodexRunnerOptions;
  readonly #guard = new OrphanGuard();
  readonly #marked: MarkedProcesses;

  private constructor(options: CodexRunnerOptions) {
    this.#options = options;
    this.#marked = new MarkedProcesses(options.clock);
  }

  /** Removes tokens that a killed server has left. @throws DomainError `denied` if others may use the folder */
  static async open(options: CodexRunnerOptions): Promise<CodexRunner> {
    const runner = new CodexRunner(options);
    await openPrivateFolder(options.folder, process.getuid?.() ?? 0);
    await using lock = await runner.#lock([]);
    if (lock === undefined) return runner; // another server is running a turn
    for (const name of readdirSync(options.folder))
      rmSync(join(options.folder, name), { recursive: true, force: true });
    return runner;
  }

  async take(workspace: string, conversation: string): Promise<TakenConversation | "busy" | undefined> {
    const { env } = this.#options;
    if (workspace !== this.#options.workspace) return undefined;
    const program = locateProgram("codex", env["PATH"] ?? "", "/");
    const free = await findFree(conversation, env);
    if (program === undefined || free === undefined) return undefined;
    const lock = await this.#lock([free.sessions]);
    if (lock === undefined) return "busy";
    return {
      run: (turn, signal) => this.#run(program, free, turn, signal),
      [Symbol.asyncDispose]: () => lock[Symbol.asyncDispose](),
    };
  }

  /** Locks the folders for a turn. Undefined: a turn of this process or of another one has locked them. */
  async #lock(others: readonly string[]): Promise<AsyncDisposable | undefined> {
    const { clock, folder } = this.#options;
    try {
      return await lockFolders(clock, [folder, ...others], { waitMs: 0, signal: new AbortController().signal });
    } catch (err) {
      if (err instanceof DomainError && err.kind === "unavailable") return undefined;
      throw err;
    }
  }

  async #run(
    program: string,
    { id, path, cwd }: FreeConversation,
    turn: ConversationTurn,
    signal: AbortSignal,
  ): Promise<WakeReceipt> {
    const { clock, env, folder, server, mint } = this.#options;
    const { text, sessionId } = turn;
    if (text === "" || text.includes("\0") || Buffer.byteLength(text) > MAX_TEXT_BYTES) {
      return { outcome: "unsafe", error: "the text is empty, too long, or holds NUL", evidence: [] };
    }
    const file = join(folder, sessionId);
    const mark = randomUUID();
    const own = { ...(await server()), [TOKEN_FILE_VARIABLE]: file, [MARK_VARIABLE]: mark };
    const gt = ownProgram("gt") ?? (["gt"] as const);
    const tools = codexArgs({ command: [...gt, "threads", "mcp"], env: own });
    const args = ["exec", "--skip-git-repo-check", ...tools, "resume", "--", id, "-"];
    try {
      replaceSecret(file, mint(turn, TOKEN_MS));
      signal.throwIfAborted();
      const before = statSync(path).size;
      const command = { program, args, cwd, env: { ...agentEnvironment(codexDialect, env), ...own } };
      const codex = await started(this.#guard.start(mark, () => AgentProcess.start(clock, command, UNHEARD)));
      if (codex === undefined) return { outcome: "cancelled", error: "codex cannot be started", evidence: [] };
      const { process, release } = codex;
      let end: ProcessEnd | undefined;
      try {
        // Everyone on this machine can read arguments, and an argument could be taken for an option.
        process.write(text).catch(() => {}); // its exit tells more
        process.endInput();
        end = await within(clock, TURN_MS, process.ended, signal);
      } finally {
        await process.stop(STOP_MS);
        await this.#marked.end(mark, STOP_MS);
        release();
      }
      if (end === undefined) signal.throwIfAborted();
      return receiptOf(end, statSync(path, { throwIfNoEntry: false })?.size !== before);
    } finally {
      rmSync(file, { force: true });
    }
  }
}

/** Undefined: the program could not be started. */
async function started<T>(starting: Promise<T>): Promise<T | undefined> {
  try {
    return await starting;
  } catch (err) {
    if (err instanceof DomainError) return undefined;
    throw err;
  }
}

/**
 * `hasGone`: the file of the conversation has changed. Codex stores a text there before it asks its model. If Codex
 * exits with an error before it stores the text, e.g. because someone has opened the conversation, the agent has not
 * been given the text.
 */
function receiptOf(end: ProcessEnd | undefined, hasGone: boolean): WakeReceipt {
  const value =
    end === undefined
      ? `codex exec took longer than ${TURN_MS / 60_000} minutes`
      : end.code === undefined
        ? `codex exec was ended by ${end.signal}`
        : `codex exec exited with ${end.code}`;
  const outcome = end?.code === 0 ? "submitted" : end?.code === 1 && !hasGone ? "cancelled" : "unknown";
  return { outcome, error: "", evidence: [{ source: "process", value, confidence: "certain" }] };
}
