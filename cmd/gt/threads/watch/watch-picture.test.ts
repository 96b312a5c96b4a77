import { describe, expect, it } from "vitest";
import { printable } from "../../../../internal/base/printable-text.ts";
import { textWidth } from "../../../../internal/base/text-width.ts";
import { type Shown, threadsPicture } from "./watch-picture.ts";
import { WatchView } from "./watch-view.ts";
import { tailText, wrapWords } from "./wrap-text.ts";

const NOW = Date.parse("2026-01-01T10:00:00Z");
const HOSTILE = "\x1b[2J\x1b]0;x\x07red\x1b[0m \u202eevil\u202c \x9b5n\r\n\ttitle";
const shown: Shown = {
  ...{
    workspace: "default",
    me: "me",
    chosen: undefined,
    isAtWait: false,
    isLoading: false,
    lost: "",
    prompt: undefined,
    note: undefined,
  },
};

/** A view of `count` threads, some of them with hostile and some with wide titles. */
function viewOf(count: number): WatchView {
  const view = new WatchView();
  const threads = Array.from({ length: count }, (_, at) => ({
    ...{ thread_id: `t-${String(at).padStart(4, "0")}`, status: at % 4 === 3 ? "blocked" : "active", version: 1 },
    title: at % 3 === 0 ? `${HOSTILE} ${at}` : `レビュー 🚀 ${"long ".repeat(at % 30)}${at}`,
    ...{ owner: HOSTILE, status_reason: HOSTILE, unread_count: at % 5, last_seq: at, disputed: at % 2 === 0 },
    updated_at: new Date(NOW - at * 1000).toISOString(),
    waiting: [
      {
        agent_id: `town/${HOSTILE}`,
        count: 1 + at,
        from: "レビュー",
        seq: 1,
        given: false,
        since: "2025-12-31T10:00:00Z",
      },
    ],
  }));
  view.take({ snapshot: { threads } });
  view.open("t-0000");
  const message = {
    thread_id: "t-0000",
    created_at: "2026-01-01T09:00:00Z",
    sender: { agent_id: HOSTILE },
    to: [HOSTILE],
  };
  const texts = [HOSTILE, "word ".repeat(200), "文".repeat(300), "x".repeat(500), ""];
  view.keep(
    "t-0000",
    texts.map((text, at) => ({ ...message, seq: at + 1, text, event_type: "question" })),
  );
  const more = { thread_id: "t-0001", severity: "high", owner: HOSTILE, reason: HOSTILE };
  view.take({ escalation: { ...more, escalation_id: "e", state: "open", created_at: "2026-01-01T09:00:00Z" } });
  return view;
}

const draw = (view: WatchView, columns: number, rows: number, more: Partial<Shown> = {}) =>
  threadsPicture(view, { ...shown, ...more }, { columns, rows, now: NOW, paint: (_, text) => printable`${text}` }).map(
    String,
  );

describe.each([
  [80, 23],
  [200, 59],
  [20, 8],
  [40, 5],
] as const)("at %d × %d", (columns, rows) => {
  it.each([0, 1, 100])("%d threads fill the screen, each line fits, and no control sequence passes", (count) => {
    for (const more of [{}, { chosen: "t-0000" }, { chosen: "t-0099" }, { lost: HOSTILE.repeat(20) }]) {
      const lines = draw(count === 0 ? new WatchView() : viewOf(count), columns, rows, more);
      expect(lines).toHaveLength(rows);
      expect(lines.filter((line) => textWidth(line) > columns)).toEqual([]);
      expect(lines.join("")).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e]/);
    }
  });

  it("a prompt shows the end of the typed text, a note its outcome", () => {
    const prompt = { question: "post to t-0000>", text: `begin ${"文 ".repeat(200)}the end` };
    const [asked] = draw(viewOf(1), columns, rows, { prompt }).slice(-1);
    expect(asked).toMatch(/end▏$/);
    expect(textWidth(asked ?? "")).toBeLessThanOrEqual(columns);
    expect(draw(viewOf(1), columns, rows, { note: { text: "posted #7", isBad: false } }).at(-1)).toBe("posted #7");
  });
});

it("shows who waits for whom and why above the threads, marks the chosen one, and puts its last message last", () => {
  const lines = draw(viewOf(100), 120, 40, { chosen: "t-0050" });
  expect(lines[0]).toContain("threads of default · 100 threads");
  expect(lines[2]).toMatch(/^! high +→ .*escalated: red/);
  expect(lines[3]).toContain("レビュー");
  expect(lines.filter((line) => line.startsWith("›"))).toEqual([expect.stringContaining("t-0050")]);
  expect(lines.at(-1)).toContain("q quit");
});

it("shows no threads or waits before the first snapshot is complete", () => {
  const view = new WatchView();
  const lines = () => draw(view, 80, 12).join("\n");
  expect(lines()).not.toMatch(/no one waits|no threads|0 threads/);
  view.take({ snapshot: { threads: [], next_cursor: "more" } });
  expect(lines()).not.toMatch(/no one waits|no threads|0 threads/);
  view.take({ snapshot: { threads: [] } });
  expect(lines()).toMatch(/0 threads[\s\S]*no one waits[\s\S]*no threads/);
});

it("shows the selected wait, wherever it is in the list, and marks escalated threads", () => {
  const waiting = (at: number) => [{ agent_id: `agent-${at}`, count: 1, from: "lead", since: "2026-01-01T09:00:00Z" }];
  const threads = Array.from({ length: 50 }, (_, at) => ({
    ...{ thread_id: `t-${at}`, title: `title ${at}`, status: "active", waiting: waiting(at) },
  }));
  const view = new WatchView();
  view.take({ snapshot: { threads } });
  const escalation = { escalation_id: "e", thread_id: "t-49", state: "open", created_at: "2026-01-01T09:00:00Z" };
  view.take({ escalation });
  const waits = (more: Partial<Shown>) => draw(view, 80, 23, more).filter((line) => line.startsWith("lead"));
  expect(waits({ chosen: "t-49" })[0]).toContain("agent-0 ");
  expect(waits({ chosen: "t-49" }).join("")).not.toContain("agent-49");
  expect(waits({ chosen: "t-9", isAtWait: true }).join("")).toContain("agent-9 ");
  expect(draw(view, 80, 23, { chosen: "t-49" }).find((line) => line.startsWith("›"))).toContain("escalated");
});

it("starts over with each snapshot: threads that the server no longer has disappear", () => {
  const view = viewOf(5);
  view.take({ snapshot: { threads: [{ thread_id: "t-new", status: "active" }], next_cursor: "more" } });
  expect(view.threads).toHaveLength(5);
  view.take({ snapshot: { threads: [{ thread_id: "t-newer", status: "active" }] } });
  expect(view.threads.map(({ id }) => id).sort()).toEqual(["t-new", "t-newer"]);
  expect(view.escalations).toEqual([]);
});

it("wraps a text at words, cuts words that are too long, and says that there is more", () => {
  expect(wrapWords("one two three\nfour", 8, 9)).toEqual(["one two", "three", "four"]);
  expect(wrapWords("abcdefghij k", 4, 9)).toEqual(["abcd", "efgh", "ij k"]);
  expect(wrapWords("one two three", 5, 2)).toEqual(["one", "two…"]);
  expect(tailText("one 文文", 5)).toBe(" 文文");
});
