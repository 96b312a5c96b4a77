import { asText, type Json, objectOf } from "../../../../internal/base/json-fields.ts";
import { type PrintableText, printable } from "../../../../internal/base/printable-text.ts";
import { foldedLine, plainText } from "../../../../internal/base/sanitise.ts";
import { clipText, textWidth } from "../../../../internal/base/text-width.ts";
import type { Paint } from "../../common/text/status-text.ts";
import { type Wait, waitsOf } from "./waits.ts";
import type { ThreadRow, WatchView } from "./watch-view.ts";
import type { Concern } from "./why-waits.ts";
import { tailText, wrapWords } from "./wrap-text.ts";

export interface ThreadsPictureOptions {
  readonly columns: number;
  /** The number of lines of the picture. */
  readonly rows: number;
  readonly paint: Paint;
  /** Wall clock, ms. */
  readonly now: number;
}

/** The state of the screen that does not come from the server. */
export interface Shown {
  readonly workspace: string;
  readonly me: string;
  /** The id of the chosen thread. */
  readonly chosen: string | undefined;
  /** The list of waits is shown around those of the chosen thread, else from its beginning. */
  readonly isAtWait: boolean;
  /** The messages of the chosen thread have not arrived yet. */
  readonly isLoading: boolean;
  /** The text that reports a lost connection; empty: it is not lost. */
  readonly lost: string;
  /** The question that the person is answering, and the answer so far. */
  readonly prompt: { readonly question: string; readonly text: string } | undefined;
  /** The result of the last command. */
  readonly note: { readonly text: string; readonly isBad: boolean } | undefined;
}

type Style = Parameters<Paint>[0];

const KEYS = "↑↓ n choose · p post · o override · w wake · z pause · a acknowledge · q quit";
/** Lines outside of lists: header, three titles, footer. */
const FIXED = 5;
const STATUS_STYLES: Readonly<Record<string, Style>> = { active: "green", blocked: "red" };
const CONCERN_STYLES: Readonly<Record<Concern, Style>> = {
  person: "yellow",
  wrong: "red",
  waits: "cyan",
  given: "dim",
};

/**
 * The whole screen: who waits for whom and why, the threads, and the messages of the chosen one. Returns `rows` lines
 * of at most `columns` columns.
 */
export function threadsPicture(
  view: WatchView,
  shown: Shown,
  options: ThreadsPictureOptions,
): readonly PrintableText[] {
  const { paint, rows } = options;
  const waits = waitsOf(view, shown.me, options.now);
  const threads = view.threads;
  const room = Math.max(3, rows - FIXED);
  const share = (of: number, part: number) => Math.min(Math.max(1, of), Math.max(1, Math.floor(room * part)));
  const forWaits = share(waits.length, 0.4);
  const forThreads = share(threads.length, 0.3);
  const isOfChosen = (thread: string) => thread === shown.chosen;
  const atWait = shown.isAtWait ? waits.findIndex(({ thread }) => isOfChosen(thread)) : 0;
  const atThread = threads.findIndex(({ id }) => isOfChosen(id));
  const forMessages = Math.max(1, room - forWaits - forThreads);
  const lines = [
    headerLine(view, waits, shown, options),
    titleLine("WHO WAITS FOR WHOM", hiddenText(waits.length, forWaits), options),
    ...waitLines(around(waits, atWait, forWaits), view, shown, options),
    titleLine("THREADS", hiddenText(threads.length, forThreads), options),
    ...threadLines(around(threads, atThread, forThreads), view, shown, options),
    chosenLine(view.thread(shown.chosen), options),
    ...messageLines(view.messages, shown.isLoading ? "…" : "none yet", forMessages, options),
  ];
  const empty = Array.from({ length: Math.max(0, rows - 1 - lines.length) }, () => paint("dim", ""));
  return [...lines.slice(0, rows - 1), ...empty, footerLine(shown, options)];
}

function headerLine(
  view: WatchView,
  waits: readonly Wait[],
  shown: Shown,
  options: ThreadsPictureOptions,
): PrintableText {
  const { columns, paint } = options;
  const name = clipText(foldedLine(`threads of ${shown.workspace}`), columns);
  const room = columns - textWidth(name) - 3;
  if (room < 1) return paint("bold", name);
  if (shown.lost !== "")
    return printable`${paint("bold", name)} · ${paint("yellow", clipText(foldedLine(shown.lost), room))}`;
  const count = (what: number, one: string, many: string) => (what === 0 ? [] : [`${what} ${what === 1 ? one : many}`]);
  if (!view.isThere) return printable`${paint("bold", name)} · …`;
  const { threads } = view;
  const people = waits.filter(({ concern }) => concern === "person").length;
  const facts = [
    `${threads.length} ${threads.length === 1 ? "thread" : "threads"}`,
    ...count(threads.filter(({ status }) => status === "blocked").length, "blocked", "blocked"),
    ...count(waits.length, "wait", "waits"),
    ...count(people, "for a person", "for people"),
    ...count(view.openWakes, "wake", "wakes"),
  ];
  return printable`${paint("bold", name)} · ${clipText(facts.join(" · "), room)}`;
}

function titleLine(title: string, more: string, { columns, paint }: ThreadsPictureOptions): PrintableText {
  const rest = clipText(more, Math.max(0, columns - title.length - 2));
  return printable`${paint("bold", clipText(title, columns))}${rest === "" ? "" : paint("dim", `  ${rest}`)}`;
}

function hiddenText(all: number, shown: number): string {
  return all > shown ? `${shown} of ${all}` : "";
}

function waitLines(
  waits: readonly Wait[],
  view: WatchView,
  { chosen }: Shown,
  options: ThreadsPictureOptions,
): readonly PrintableText[] {
  const { columns, paint, now } = options;
  const most = Math.floor(columns / 5);
  const widest = (texts: readonly string[]) =>
    Math.min(most, Math.max(1, ...texts.map((one) => textWidth(foldedLine(one)))));
  const from = widest(waits.map((one) => one.from));
  const agent = widest(waits.map((one) => one.agent));
  return padded(
    waits.map((wait) => {
      const who = `${filled(wait.from, from)} → ${filled(wait.agent, agent)}`;
      const age = ageText(now - wait.since).padStart(7);
      const room = Math.max(0, columns - textWidth(who) - age.length - 4);
      const why = clipText(foldedLine(wait.why), room);
      const left = room - textWidth(why) - 2;
      const title = left < 6 ? "" : `  ${clipText(foldedLine(waitSummary(wait)), left)}`;
      const style = CONCERN_STYLES[wait.concern];
      const shownWho = wait.thread === chosen ? paint("bold", who) : printable`${who}`;
      return printable`${shownWho}${paint("dim", age)}  ${paint(style, why)}${title === "" ? "" : paint("dim", title)}`;
    }),
    view.isThere ? "no one waits" : "…",
    options,
  );
}

function waitSummary({ count, threads, title }: Wait): string {
  if (count === 0) return threads > 1 ? `in ${threads} threads` : title;
  if (threads > 1) return `${count} messages in ${threads} threads`;
  return count > 1 ? `${count} messages in ${title}` : title;
}

function threadLines(
  threads: readonly ThreadRow[],
  view: WatchView,
  shown: Shown,
  options: ThreadsPictureOptions,
): readonly PrintableText[] {
  const { columns, paint, now } = options;
  const escalated = new Set(view.escalations.filter(({ state }) => state === "open").map(({ thread }) => thread));
  const widest = Math.max(0, ...threads.map(({ title }) => textWidth(foldedLine(title))));
  return padded(
    threads.map((thread) => {
      const { id, status, title, unread, pausedUntil, owner, lastSeq } = thread;
      const isPaused = pausedUntil !== undefined && pausedUntil > now;
      const facts = [
        ...(escalated.has(id) ? ["escalated"] : []),
        ...thread.marks,
        ...(isPaused ? ["paused"] : []),
        ...(unread > 0 ? [`${unread} unread`] : []),
        ...(owner === "" ? [] : [`owner ${owner}`]),
        `#${lastSeq}`,
      ];
      const head = `${id === shown.chosen ? "›" : " "} ${filled(id, columns < 40 ? 4 : 10)}  `;
      const room = Math.max(0, columns - textWidth(head) - 12);
      const more = clipText(foldedLine(facts.join(", ")), Math.max(0, Math.floor(room / 2)));
      const name = filled(title, Math.max(0, Math.min(widest, room - textWidth(more))));
      const state = paint(STATUS_STYLES[status] ?? "dim", filled(status, 8));
      const shownName = id === shown.chosen ? paint("bold", name) : printable`${name}`;
      return printable`${head}${state}  ${shownName}  ${paint("dim", more)}`;
    }),
    view.isThere ? "no threads: gt threads new TITLE --with AGENT" : "…",
    options,
  );
}

function chosenLine(thread: ThreadRow | undefined, options: ThreadsPictureOptions): PrintableText {
  if (thread === undefined) return titleLine("MESSAGES", "", options);
  const { id, title, status, reason } = thread;
  return titleLine("MESSAGES", foldedLine(`${id}  ${title}  ${status}${reason === "" ? "" : `: ${reason}`}`), options);
}

/** The last messages, the newest at the bottom; a long one is cut. */
function messageLines(
  messages: readonly Json[],
  none: string,
  room: number,
  options: ThreadsPictureOptions,
): readonly PrintableText[] {
  const { columns, paint } = options;
  const most = Math.max(2, Math.floor(room / 3));
  const lines: PrintableText[] = [];
  for (const message of messages.toReversed()) {
    if (lines.length >= room) break;
    const text = message["erased"] === true ? "(erased)" : asText(message["text"]);
    const body = wrapWords(text, columns - 2, most).map((line) => printable`  ${line}`);
    lines.unshift(paint("cyan", clipText(foldedLine(messageHead(message)), columns)), ...body);
  }
  return padded(lines.slice(-room), none, options);
}

function messageHead(message: Json): string {
  const metadata = objectOf(message["metadata"]);
  const place = ["path", "line", "commit", "ref"].map((name) => metadata[name]).filter((one) => one !== undefined);
  const to = [...textsOf(message["to"]), ...textsOf(message["to_role"]).map((one) => `role ${one}`)].join(", ");
  const parts = [
    `#${Number(message["seq"])} ${asText(message["created_at"]).slice(11, 19)}`,
    asText(objectOf(message["sender"])["agent_id"]),
    ...(to === "" ? [] : [`→ ${to}`]),
    asText(message["event_type"]),
    place.map(String).join(":"),
  ];
  return parts.filter((one) => one !== "").join(" ");
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function footerLine({ prompt, note }: Shown, { columns, paint }: ThreadsPictureOptions): PrintableText {
  if (prompt !== undefined) {
    const question = clipText(foldedLine(prompt.question), Math.floor(columns / 2));
    const text = tailText(
      plainText(prompt.text).replaceAll("\n", "⏎").replaceAll("\t", " "),
      columns - textWidth(question) - 2,
    );
    return printable`${paint("bold", question)} ${text}▏`;
  }
  if (note !== undefined) return paint(note.isBad ? "red" : "green", clipText(foldedLine(note.text), columns));
  return paint("dim", clipText(KEYS, columns));
}

/** At most `room` of the rows, around the row at index `at`. */
function around<T>(rows: readonly T[], at: number, room: number): readonly T[] {
  const first = Math.min(Math.max(0, at - Math.floor(room / 2)), Math.max(0, rows.length - room));
  return rows.slice(first, first + room);
}

function padded(lines: readonly PrintableText[], none: string, { columns, paint }: ThreadsPictureOptions) {
  return lines.length > 0 ? lines : [paint("dim", clipText(none, columns))];
}

/** Clips or pads a text to exactly `columns` columns. */
function filled(text: string, columns: number): string {
  const clipped = clipText(foldedLine(text), columns);
  return clipped + " ".repeat(Math.max(0, columns - textWidth(clipped)));
}

/** A duration in its largest unit, such as `5 min`. */
function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
