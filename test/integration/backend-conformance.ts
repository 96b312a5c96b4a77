import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AgentStatus } from "../../internal/session/agent-status.ts";
import type { NudgeRequest, PeekRequest, WatchRequest, WatchUpdate } from "../../internal/session/types.ts";
import type { Backend } from "../../internal/terminal/backend.ts";
import {
  type AgentPlace,
  demoAgent,
  type PlaceOptions,
  printer,
  takenMessages,
} from "../support/agents/agent-places.ts";
import { calmTime } from "../support/calm-time.ts";
import { eventually } from "../support/eventually.ts";

type Start = (options: PlaceOptions) => Promise<AgentPlace>;

const peekRequest: PeekRequest = { lines: 100, all: false, ansi: false, joinWrapped: false };
const nudgeRequest: NudgeRequest = {
  message: "hello",
  requestId: "",
  mode: "wait-idle",
  timeoutMs: 15_000,
  sender: "test",
  priority: "normal",
  ttlMs: 0,
};
const watchRequest: WatchRequest = { mode: "screen", lines: 20, intervalMs: 20, ansi: false, epoch: "" };
const never = new AbortController().signal;

/** The contract of every `Backend`, local or remote. */
export function backendConformance(name: string, start: Start): void {
  describe(`${name}: one idle agent`, () => sharedTests(start));
  describe(`${name}: peek`, () => peekTests(start));
  describe(`${name}: nudge`, () => nudgeTests(start));
  describe(`${name}: respond`, () => respondTests(start));
  describe(`${name}: status`, () => statusTests(start));
  describe(`${name}: watch`, () => watchTests(start));
}

function peek(backend: Backend, change: Partial<PeekRequest> = {}) {
  return backend.peek({ ...peekRequest, ...change }, never);
}

function nudge(backend: Backend, change: Partial<NudgeRequest> = {}) {
  return backend.nudge({ ...nudgeRequest, ...change }, never);
}

/** Waits until the agent is in one of these states; returns the state. */
function state(backend: Backend, ...wanted: AgentStatus["state"][]): Promise<AgentStatus> {
  return eventually(`state ${wanted.join(" or ")}`, async () => {
    const status = await backend.status(never);
    return wanted.includes(status.state) ? status : undefined;
  });
}

async function started(start: Start, ...flags: string[]): Promise<AgentPlace> {
  const place = await start({ argv: (dir) => demoAgent(dir, ...flags), profile: "demo" });
  try {
    await state(place.backend, "idle");
    return place;
  } catch (err) {
    await place[Symbol.asyncDispose]();
    throw err;
  }
}

function sharedTests(start: Start): void {
  let place: AgentPlace;
  let before = 0;
  beforeAll(async () => {
    place = await started(start);
  });
  beforeEach(async () => {
    await state(place.backend, "idle");
    before = (await takenMessages(place)).length;
  });
  afterAll(() => place?.[Symbol.asyncDispose]());

  /** The messages that the agent took since the test began. */
  const takenNow = async () => (await takenMessages(place)).slice(before);
  const answer = (dialogId: string, choice: string) =>
    place.backend.respond({ dialogId, choice, requestId: "" }, never);

  it("peek: refuses more than 100,000 lines", async () => {
    await expect(peek(place.backend, { lines: 100_001 })).rejects.toMatchObject({ kind: "invalid" });
  });

  it("nudge: arrives once, as its receipt says", async () => {
    const receipt = await nudge(place.backend, { message: "one message" });
    expect(receipt).toMatchObject({ outcome: "submitted", error: "", queuePosition: 0 });
    expect(receipt.evidence.length).toBeGreaterThan(0);
    expect(receipt.timings.confirmedMs).toBeGreaterThan(0);
    await state(place.backend, "idle");
    expect(await takenNow()).toEqual(["one message"]);
  });

  it("nudge: arrives whole with several lines, wide characters, a dash first, a semicolon last, or 8 KiB", async () => {
    const messages = ["a\nb\n\nc", "日本語 🎉", "-n 5;", `begin ${"lorem ipsum ".repeat(680)}end`];
    for (const message of messages) {
      expect(await nudge(place.backend, { message, mode: "immediate" })).toMatchObject({ outcome: "submitted" });
    }
    await state(place.backend, "idle");
    expect(await takenNow()).toEqual(messages);
  });

  it("nudge: is refused when cleaning leaves no text", async () => {
    expect(await nudge(place.backend, { message: "\x1b[31m\x07" })).toMatchObject({ outcome: "unsafe" });
    await expect(nudge(place.backend, { message: "" })).rejects.toMatchObject({ kind: "invalid" });
  });

  it("nudge: is typed once for one request id", async () => {
    const first = await nudge(place.backend, { requestId: "id-1" });
    expect(await nudge(place.backend, { requestId: "id-1" })).toMatchObject({
      requestId: "id-1",
      outcome: first.outcome,
    });
    expect(await place.backend.getNudge("id-1", never)).toMatchObject({ outcome: "submitted" });
    await expect(nudge(place.backend, { requestId: "id-1", message: "other" })).rejects.toMatchObject({
      kind: "already-exists",
    });
    await expect(place.backend.getNudge("id-2", never)).rejects.toMatchObject({ kind: "not-found" });
    await state(place.backend, "idle");
    expect(await takenNow()).toEqual(["hello"]);
  });

  it("nudge: types nothing into a dialog", async () => {
    await nudge(place.backend, { message: "run: touch forbidden" });
    await state(place.backend, "dialog");
    await eventually("its drawing", async () => (await peek(place.backend)).output.includes("Allow this command?"));
    const drawn = (await peek(place.backend)).output;
    expect(await nudge(place.backend, { message: "yes" })).toMatchObject({ outcome: "blocked-by-dialog" });
    expect((await peek(place.backend)).output).toBe(drawn);
    expect(await takenNow()).toEqual(["run: touch forbidden"]);
    await place.keys("Escape");
  });

  it("nudge: types nothing onto a person's draft", async () => {
    await place.keys("-l", "half a thought");
    await eventually("the draft", async () => (await place.backend.status(never)).draft);
    expect(await nudge(place.backend)).toMatchObject({ outcome: "composer-busy" });
    expect((await peek(place.backend)).output).toContain("half a thought");
    expect(await takenNow()).toEqual([]);
    await place.keys(...Array<string>("half a thought".length).fill("BSpace"));
    await eventually("no draft", async () => !(await place.backend.status(never)).draft);
  });

  it("respond: answers the requested dialog once", async () => {
    await nudge(place.backend, { message: "ask: Which?|A|B|C" });
    const { id } = await eventually("the dialog", async () => (await state(place.backend, "dialog")).dialog);
    await expect(answer("0123456789abcdef", "1")).rejects.toMatchObject({
      kind: "precondition",
      fields: { dialog_id: id },
    });
    await expect(answer(id, "4")).rejects.toMatchObject({ kind: "invalid" });
    const result = await answer(id, "3");
    expect(result).toMatchObject({ outcome: "answered", evidence: [{ source: "screen", confidence: "strong" }, {}] });
    await expect(answer(id, "3")).rejects.toMatchObject({
      kind: "precondition",
      fields: { dialog_id: "" },
    });
    await state(place.backend, "idle");
    expect((await peek(place.backend)).output).toContain("⎿ C");
  });

  it("watch: stops when it is asked to", async () => {
    const stop = new AbortController();
    const watching = Array.fromAsync(place.backend.watch(watchRequest, stop.signal));
    setTimeout(() => stop.abort(new Error("enough")), 300);
    await expect(watching).rejects.toThrow("enough");
  });
}

function peekTests(start: Start): void {
  const lines = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`);

  it("returns exactly the requested number of last lines, from a few to more than there are", async () => {
    await using place = await start({
      argv: () => printer(`${lines.join("\n")}\n`),
      profile: "generic",
      cols: 40,
      rows: 10,
    });
    await eventually("all is printed", async () => (await peek(place.backend, { lines: 1 })).output === "line 60");
    for (const count of [1, 5, 9, 10, 11, 12, 40, 59, 60, 61, 5000]) {
      const { output } = await peek(place.backend, { lines: count });
      expect(output.split("\n"), `the last ${count}`).toEqual(lines.slice(-count));
    }
    const all = await peek(place.backend, { all: true });
    expect(all.output.split("\n")).toEqual(lines);
    expect(all).toMatchObject({
      alive: true,
      truncated: false,
      alternateScreen: false,
      cols: 40,
      rows: 10,
      cursorX: 0,
    });
    expect(all.historyLines).toBeGreaterThanOrEqual(51);
  });

  it("keeps indents, wide characters and blank lines, and no control characters", async () => {
    const text = ["  indented", "", "日本語 テスト 🎉 é ñ", "\x1b[31mred\x1b[0m \x1b]0;title\x07end"];
    await using place = await start({ argv: () => printer(text.join("\r\n")), profile: "generic" });
    const result = await eventually("it is printed", async () => {
      const seen = await peek(place.backend);
      return seen.output.endsWith("end") ? seen : undefined;
    });
    expect(result.output.split("\n")).toEqual(["  indented", "", "日本語 テスト 🎉 é ñ", "red end"]);
    expect((await peek(place.backend, { ansi: true, lines: 1 })).output).toContain("\x1b[31mred");
  });

  it("shows wrapped lines as on the screen, or joined", async () => {
    const long = "x".repeat(45) + "y".repeat(45);
    await using place = await start({ argv: () => printer(`${long}\nend`), profile: "generic", cols: 40, rows: 10 });
    await eventually("it is printed", async () => (await peek(place.backend, { lines: 1 })).output === "end");
    expect((await peek(place.backend)).output.split("\n")).toEqual([
      long.slice(0, 40),
      long.slice(40, 80),
      long.slice(80),
      "end",
    ]);
    expect((await peek(place.backend, { joinWrapped: true })).output.split("\n")).toEqual([long, "end"]);
    expect((await peek(place.backend, { joinWrapped: true, lines: 2 })).output.split("\n")).toEqual([long, "end"]);
  });

  it("reports that the agent draws on the alternate screen", async () => {
    await using place = await start({ argv: () => printer("before\n\x1b[?1049h\x1b[Hinside"), profile: "generic" });
    await eventually("the alternate screen, and nothing of the other", async () => {
      const { alternateScreen, output } = await peek(place.backend);
      return alternateScreen && output === "inside";
    });
  });

  it("shows the last screen of an agent that has ended", async () => {
    // tmux itself may lose a program's output of its last instant.
    const argv = ["sh", "-c", "stty -echo; echo last words; read go"] as const;
    await using place = await start({ argv: () => argv, profile: "generic" });
    await eventually("it is printed", async () => (await peek(place.backend)).output.includes("last words"));
    await place.keys("Enter");
    const seen = await eventually("its end", async () => {
      const result = await peek(place.backend);
      return result.alive ? undefined : result;
    });
    expect(seen.output).toContain("last words");
  });
}

function nudgeTests(start: Start): void {
  it("waits for a busy agent, unless it is asked to type at once", async () => {
    await using place = await started(start, "--turn-ms", "1500");
    await nudge(place.backend, { message: "first" });
    const immediate = await nudge(place.backend, { message: "at once", mode: "immediate" });
    expect(immediate).toMatchObject({ outcome: "submitted" });
    expect(await nudge(place.backend, { message: "later" })).toMatchObject({ outcome: "submitted" });
    await state(place.backend, "idle");
    expect(await takenMessages(place)).toEqual(["first", "at once", "later"]);
  });

  it("never mixes the messages of concurrent senders", async () => {
    await using place = await started(start, "--turn-ms", "100");
    const messages = Array.from({ length: 6 }, (_, i) => `message ${i} of six ${"·".repeat(30)}`);
    const receipts = await Promise.all(messages.map((message) => nudge(place.backend, { message, timeoutMs: 60_000 })));
    expect(receipts.map((one) => one.outcome)).toEqual(messages.map(() => "submitted"));
    await state(place.backend, "idle");
    expect([...(await takenMessages(place))].sort()).toEqual(messages);
  });
}

function respondTests(start: Start): void {
  it("knows no dialogs of an unknown program", async () => {
    await using place = await start({ argv: () => printer("1. Yes\n2. No"), profile: "generic" });
    await expect(
      eventually("an answer of tmux", () =>
        place.backend.respond({ dialogId: "x", choice: "1", requestId: "" }, never).catch((err: { kind: string }) => {
          if (err.kind === "unavailable") return undefined;
          throw err;
        }),
      ),
    ).rejects.toMatchObject({ kind: "unimplemented" });
  });
}

function statusTests(start: Start): void {
  it("reports idle, busy, dialog and dead, and a nudge of the dead agent is refused", async () => {
    await using place = await started(start, "--turn-ms", "4000");
    const idle = await place.backend.status(never);
    expect(idle).toMatchObject({
      alive: true,
      state: "idle",
      draft: false,
      queueDepth: 0,
      cols: 100,
      rows: 30,
      provider: "demo",
    });
    expect(idle.agentPid).toBeGreaterThan(1);
    expect(idle.evidence.length).toBeGreaterThan(0);
    await nudge(place.backend);
    await state(place.backend, "busy");
    await state(place.backend, "idle");
    await nudge(place.backend, { message: "run: touch forbidden" });
    const dialog = await eventually("the dialog", async () => (await state(place.backend, "dialog")).dialog);
    expect(dialog).toMatchObject({ kind: "permission" });
    expect(dialog.choices.length).toBeGreaterThan(1);
    expect(dialog.text).toContain("touch forbidden");
    await place.keys("Escape");
    await state(place.backend, "idle");
    await place.keys("-l", "/exit");
    await place.keys("Enter");
    expect(await state(place.backend, "dead")).toMatchObject({ alive: false, exitCode: 0 });
    expect(await nudge(place.backend)).toMatchObject({ outcome: "agent-dead" });
  });
}

function watchTests(start: Start): void {
  it("sends the screen at once, then each change, and an end", async () => {
    await using place = await started(start);
    const updates: WatchUpdate[] = [];
    const passed = calmTime();
    let firstMs = 0;
    let told = false;
    for await (const update of place.backend.watch(watchRequest, AbortSignal.timeout(30_000))) {
      updates.push(update);
      if (updates.length === 1) {
        firstMs = passed();
        await nudge(place.backend, { message: "something new" });
      }
      if (update.kind === "end") break;
      if (!told && update.output.includes("something new")) {
        told = true;
        await state(place.backend, "idle");
        await place.keys("-l", "/exit");
        await place.keys("Enter");
      }
    }
    expect(firstMs).toBeLessThan(2000);
    expect(updates[0]).toMatchObject({ kind: "snapshot", alive: true, cols: 100, rows: 30 });
    expect(updates[0]?.output).toContain("Demo agent");
    expect(updates.some((one) => one.kind === "change" && one.output.includes("something new"))).toBe(true);
    expect(updates.at(-1)).toMatchObject({ kind: "end", alive: false });
    expect(updates.at(-1)?.endReason).not.toBe("");
  });
}
