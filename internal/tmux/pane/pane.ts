import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { DomainError } from "../../base/errors.ts";
import type { Commands, Reply } from "./commands.ts";
import { TmuxCommandError } from "./errors.ts";
import { checkKeys } from "./keys.ts";
import { commandArguments, cwdCommand, type PaneCommand } from "./pane-command.ts";
import {
  type CaptureOptions,
  type CursorPlace,
  captureLine,
  checkBufferName,
  checkPaneId,
  DONE,
  enterLine,
  keysLine,
  MOVED,
  pasteLine,
  pipeLine,
  REFUSED,
  rawLine,
  SYNCHRONIZED,
  saveLine,
  textAtLine,
  textLine,
} from "./pane-commands.ts";
import {
  CLIENTS,
  factsCommand,
  lastTyped,
  modesCommand,
  type PaneFacts,
  type PaneModes,
  parseFacts,
  parseModes,
} from "./pane-facts.ts";
import { quoteArgument } from "./quote.ts";
import { RAW_KEYS_MAX_BYTES } from "./raw-keys.ts";
import { WINDOW_NAME } from "./server-config.ts";
import { unreadInput } from "./unread-input.ts";

export type { CaptureOptions } from "./pane-commands.ts";
export type { PaneFacts, PaneModes } from "./pane-facts.ts";

/**
 * Nothing was typed. `refused`: the pane is dead or has its input turned off; `synchronized`: with `synchronize-panes`
 * the text would reach the other panes of its window.
 */
type NotSent = "refused" | "synchronized";

type Sent = "sent" | NotSent;

/** A pane at one moment. */
export interface PaneCut {
  /** History and screen; the screen alone while it is the alternate one. Each line with its LF. */
  readonly text: string;
  readonly facts: PaneFacts;
  readonly modes: PaneModes;
  /**
   * The screen behind an alternate screen; tmux keeps it with the rows that the window had when the alternate screen
   * was entered.
   */
  readonly main?: { readonly history: string; readonly screen: string; readonly rows: number };
}

export interface TmuxPaneOptions {
  /** Private folder (0700), preferably in memory, for captures in transit; no `#[` in its path. */
  readonly dir: string;
  /** Reads and removes a file in that folder; undefined if tmux did not write it. */
  readonly take: (name: string, maxBytes: number) => Promise<string | undefined>;
}

/** Far more than a history of 100,000 lines. */
const CAPTURE_MAX_BYTES = 256 * 1024 * 1024;
/** The terminal closes a moment before the process counts as ended; on a busy machine two attempts were needed. */
const RECOVER_ATTEMPTS = 20;

/**
 * One pane, named by its id, which tmux never uses again while the server lives. Every method throws
 * TmuxUnavailableError when the client is not attached, TmuxCommandError when tmux refuses (the pane is gone).
 */
export class TmuxPane {
  readonly id: string;
  readonly #client: Commands;
  readonly #options: TmuxPaneOptions;

  /** @throws DomainError `invalid` for anything but an id like `%0` */
  constructor(client: Commands, paneId: string, options: TmuxPaneOptions) {
    this.id = checkPaneId(paneId);
    this.#client = client;
    this.#options = options;
  }

  /**
   * The session's first pane: the one made with it, unless that was closed.
   * @throws TmuxCommandError when there is no such session
   */
  static async find(client: Commands, session: string, options: TmuxPaneOptions): Promise<TmuxPane> {
    const [first = ""] = await TmuxPane.list(client, session);
    return new TmuxPane(client, first, options);
  }

  /** Ids of the session's panes, the oldest first. @throws TmuxCommandError when there is no such session */
  static async list(client: Commands, session: string): Promise<readonly string[]> {
    const ids = await client.command(`list-panes -s -t ${quoteArgument(`=${session}:`)} -F "#{pane_id}"`);
    return ids.toSorted((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
  }

  /** @throws DomainError `unavailable` when the pane is gone */
  async facts(): Promise<PaneFacts> {
    const separator = `gt${randomBytes(8).toString("hex")}`;
    return parseFacts(await this.#client.command(factsCommand(this.id, separator)), separator);
  }

  /**
   * When a person last pressed a key in, or attached, a writing terminal of this server that shows the pane: wall
   * clock, ms, rounded up to the end of tmux's whole second. Undefined: there is no such terminal. Control clients do
   * not count.
   */
  async personTypedAt(): Promise<number | undefined> {
    return lastTyped(await this.#client.command(CLIENTS), this.id);
  }

  /**
   * The facts, which for a dead pane include how its command ended. Some builds of tmux lose the signal about that end:
   * the pane is then dead without a status, and no hook runs, until another child of the server ends. Takes up to 0.3 s
   * if the status is missing because the process has closed its terminal but is still running.
   */
  async recoverDeadStatus(): Promise<PaneFacts> {
    let facts = await this.facts();
    for (let attempt = 0; attempt < RECOVER_ATTEMPTS; attempt++) {
      if (!facts.dead || facts.deadStatus !== undefined || facts.deadSignal !== undefined) break;
      // Without -b, so that the next command waits until `true` has been reaped, together with every child that ended
      // before.
      await this.#client.script(attempt === 0 ? "run-shell true" : "run-shell -d 0.01 true");
      facts = await this.facts();
    }
    return facts;
  }

  /**
   * The text of a range of lines, each with its LF. Capture one range at a time: the server does nothing else meanwhile
   * (1 ms per 1000 lines).
   */
  async capture(options: CaptureOptions): Promise<string> {
    return await this.#fetch((buffer) => this.#client.command(captureLine(this.id, buffer, options)));
  }

  /**
   * The screen with up to `history` lines above it, its cursor and modes, and the screen behind an alternate one, all
   * of one moment. Wrapped rows are joined. With a FIFO, the output goes there from the very next byte on: between the
   * cut and the FIFO nothing is lost or repeated. Give each cut a FIFO of its own: bytes in transit through an earlier
   * pipe would come after the cut. The cut may fall between CR and LF.
   */
  async cut(history: number, fifoPath?: string): Promise<PaneCut> {
    const separator = `gt${randomBytes(8).toString("hex")}`;
    const [screen, above, behind, rows] = ["screen", "above", "behind", "rows"].map(
      (part) => `gtcap-${randomUUID()}-${part}`,
    );
    const both = { escapes: true, join: true };
    const line = [
      factsCommand(this.id, separator),
      modesCommand(this.id),
      captureLine(this.id, `${screen}`, { ...both, start: -history }),
      // Behind an alternate screen the history and the main screen are fetched separately, because they are drawn
      // first.
      `if-shell -F -t ${this.id} "#{alternate_on}" ${quoteArgument(
        [
          captureLine(this.id, `${screen}`, { ...both, start: 0 }),
          captureLine(this.id, `${above}`, { ...both, start: -Math.max(1, history), end: -1 }),
          captureLine(this.id, `${behind}`, { ...both, savedScreen: true }),
          captureLine(this.id, `${rows}`, { escapes: false, join: false, savedScreen: true }),
        ].join(" ; "),
      )}`,
      ...(fifoPath === undefined ? [] : [pipeLine(this.id, fifoPath)]),
    ];
    const asked = this.#client.script(line.join(" ; "));
    const text = this.#bring(`${screen}`);
    const [replies] = await Promise.all([asked, text]);
    checkAll("cut", replies, line.length);
    const facts = parseFacts(replies[0]?.lines ?? [], separator);
    const modes = parseModes(replies[1]?.lines[0] ?? "");
    if (!facts.alternate) return { text: await text, facts, modes };
    const hasAbove = history > 0 && facts.historySize > 0;
    const [aboveText, behindText, rowsText] = await Promise.all(
      [above, behind, rows].map((part) => this.#bring(`${part}`)),
    );
    const main = {
      history: hasAbove ? (aboveText ?? "") : "",
      screen: behindText ?? "",
      rows: (rowsText ?? "").split("\n").length - 1,
    };
    return { text: await text, facts, modes, main };
  }

  /**
   * Puts text into a named buffer of the server, replacing what was there.
   * @throws DomainError `invalid` for empty text, NUL, or a name other than `[A-Za-z0-9._-]{1,160}`
   */
  async stage(buffer: string, text: string): Promise<void> {
    if (text === "") throw new DomainError("invalid", "cannot stage an empty text");
    await this.#client.command(`set-buffer -b ${checkBufferName(buffer)} -- ${quoteArgument(text)}`);
  }

  /** Names of the buffers that begin with `prefix`. */
  async listBuffers(prefix = ""): Promise<readonly string[]> {
    const names = await this.#client.command('list-buffers -F "#{buffer_name}"');
    return names.filter((name) => name.startsWith(prefix));
  }

  async bufferExists(buffer: string): Promise<boolean> {
    return (await this.listBuffers(checkBufferName(buffer))).includes(buffer);
  }

  /** Deletes a buffer; one that does not exist is fine. */
  async dropBuffer(buffer: string): Promise<void> {
    const replies = await this.#client.script(`delete-buffer -b ${checkBufferName(buffer)}`);
    const failed = replies.find((reply) => !reply.ok);
    if (failed && !failed.lines.join(" ").includes("unknown buffer"))
      throw new TmuxCommandError("delete-buffer", failed.lines);
  }

  /**
   * Types a staged buffer as one paste and deletes it; closes copy mode and the like first. If the paste is refused,
   * the buffer stays.
   * @throws TmuxCommandError when there is no such buffer
   */
  async paste(buffer: string): Promise<"pasted" | NotSent> {
    const answer = await this.#guarded("paste-buffer", pasteLine(this.id, buffer));
    return answer === "sent" ? "pasted" : answer;
  }

  /** Presses keys by name; closes copy mode and the like first. @throws DomainError `invalid`: see `checkKeys`. */
  async sendKeys(names: readonly string[]): Promise<Sent> {
    checkKeys(names);
    return await this.#guarded("send-keys", keysLine(this.id, names));
  }

  /** Types text as it is, without paste brackets; closes copy mode and the like first. */
  async sendText(text: string): Promise<Sent> {
    return text === "" ? "sent" : await this.#guarded("send-keys", textLine(this.id, text));
  }

  /**
   * Passes at most 4096 bytes from a person's terminal to the program unchanged; closes copy mode and the like first.
   */
  async sendBytes(data: Uint8Array): Promise<Sent> {
    if (data.length > RAW_KEYS_MAX_BYTES) throw new DomainError("invalid", `cannot type ${data.length} bytes at once`);
    return data.length === 0 ? "sent" : await this.#guarded("send-keys", rawLine(this.id, data));
  }

  /**
   * Presses Enter; closes copy mode and the like first, as `paste` does. `moved`: the cursor is not at `cursor`;
   * nothing was sent.
   */
  async enter(cursor?: CursorPlace): Promise<Sent | "moved"> {
    return await this.#guarded("send-keys", enterLine(this.id, cursor), { [MOVED]: "moved" });
  }

  /** Types characters as they are. `moved`: the cursor is not at `cursor`; nothing was sent. */
  async typeAt(text: string, cursor: CursorPlace): Promise<Sent | "moved"> {
    return await this.#guarded("send-keys", textAtLine(this.id, text, cursor), { [MOVED]: "moved" });
  }

  /** The number of typed bytes that the program has not read; undefined if unknown. */
  async unread(): Promise<number | undefined> {
    const [tty = ""] = await this.#client.command(`display-message -p -t ${this.id} "#{pane_tty}"`).catch(() => []);
    return await unreadInput(tty);
  }

  /** Fixes the size of the pane's window for all clients. @throws DomainError `invalid` outside of 1…10000 */
  async resize(cols: number, rows: number): Promise<void> {
    for (const cells of [cols, rows]) {
      if (!Number.isInteger(cells) || cells < 1 || cells > 10_000)
        throw new DomainError("invalid", `not a size: ${cols}x${rows}`);
    }
    await this.#client.command(`resize-window -t ${this.id} -x ${cols} -y ${rows}`);
  }

  /**
   * Starts a command in the pane in place of one that has ended. The text on the screen moves to the history, the
   * window gets its name back, the pipe continues, and variables of the first start stay set. The last frame of an
   * alternate screen is lost: capture it first.
   * @throws TmuxCommandError when the pane's command is still running
   */
  async respawn(command: PaneCommand): Promise<void> {
    const line = [
      cwdCommand(command),
      // A respawn clears the screen, so a reset moves the text into the history first. Only if the pane is dead: -R
      // would wipe the screen of a running command.
      `if-shell -F -t ${this.id} "#{pane_dead}" ${quoteArgument(`send-keys -R -t ${this.id}`)}`,
      `respawn-pane -t ${this.id} ${commandArguments(command)}`,
      `rename-window -t ${this.id} ${WINDOW_NAME}`,
    ].join(" ; ");
    checkAll("respawn-pane", await this.#client.script(line), 4);
  }

  async #guarded<T extends string = never>(
    name: string,
    line: string,
    more?: Readonly<Record<string, T>>,
  ): Promise<Sent | T> {
    const replies = await this.#client.script(line);
    const answers = { [DONE]: "sent", [REFUSED]: "refused", [SYNCHRONIZED]: "synchronized" } as const;
    const known: Readonly<Record<string, Sent | T>> = { ...answers, ...more };
    // Hooks that a person has set may print more lines.
    for (const line of replies.flatMap(({ lines }) => lines)) {
      if (Object.hasOwn(known, line)) return known[line] as Sent | T;
    }
    throw new TmuxCommandError(name, replies.find((reply) => !reply.ok)?.lines ?? []);
  }

  /** Fills a buffer and reads its text through a file; the three commands are sent together. */
  async #fetch(fill: (buffer: string) => Promise<unknown>): Promise<string> {
    const buffer = `gtcap-${randomUUID()}`;
    const [filled, text] = await Promise.allSettled([fill(buffer), this.#bring(buffer)]);
    if (filled.status === "rejected") throw filled.reason;
    if (text.status === "rejected") throw text.reason;
    return text.value;
  }

  /**
   * Reads and deletes a buffer. On a full disk tmux reports success for a truncated file, so the buffer's name is
   * appended as an end mark. tmux creates no buffer for an empty capture; the mark is then the buffer's whole content.
   */
  async #bring(buffer: string): Promise<string> {
    const { dir, take } = this.#options;
    const steps = await Promise.allSettled([
      this.#client.command(`set-buffer -a -b ${buffer} -- ${buffer}`),
      this.#client.command(saveLine(buffer, join(dir, buffer))),
      this.#client.command(`delete-buffer -b ${buffer}`),
    ]);
    for (const step of steps) if (step.status === "rejected") throw step.reason;
    const text = await take(buffer, CAPTURE_MAX_BYTES);
    if (text === undefined) throw new DomainError("unavailable", "a capture of the pane was removed");
    if (!text.endsWith(buffer))
      throw new DomainError("unavailable", `a capture of the pane is not whole: ${dir} is full`);
    return text.slice(0, -buffer.length);
  }
}

function checkAll(name: string, replies: readonly Reply[], expected: number): void {
  const failed = replies.find((reply) => !reply.ok);
  if (failed) throw new TmuxCommandError(name, failed.lines);
  if (replies.length < expected) throw new TmuxCommandError(name, ["the list ended early"]);
}
