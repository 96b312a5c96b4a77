import { expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DomainError } from "../../base/errors.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { PermissionOutcome } from "../acp/permission-choice.ts";
import { BridgePrompt, type BridgePromptOptions } from "./bridge-prompt.ts";
import type { BridgeDialog, BridgeEvent, BridgeSessions, InputAnswer } from "./bridge-sessions.ts";

const SUBMITTED: InputAnswer = { outcome: "submitted", error: "" };
const PARAMETERS = { provider: "", repoPath: "", agentOpts: {} };
const DIALOG: BridgeDialog = { id: "d1", kind: "permission", title: "", text: "", choices: [] };

/** A bridge's session with events, answers and a screen that the test sets. */
class Scene {
  readonly clock = new FakeClock();
  readonly calls: string[] = [];
  readonly asked: string[] = [];
  readonly progress: unknown[] = [];
  readonly answers: (InputAnswer | DomainError)[];
  /** The errors of the next presses of keys. */
  readonly refusals: DomainError[] = [];
  shown: BridgeDialog | undefined;
  readonly leave = Promise.withResolvers<PermissionOutcome>();
  readonly stop = new AbortController();
  readonly prompt: BridgePrompt;
  readonly result: Promise<unknown>;
  readonly #events: BridgeEvent[] = [];
  readonly #changed = new SignalBus();

  /** @param answers to the input, in order; the last one applies to all further inputs */
  constructor(more: Partial<BridgePromptOptions> = {}, answers: readonly (InputAnswer | DomainError)[] = [SUBMITTED]) {
    this.answers = [...answers];
    const place = { epoch: "e1", seq: 0, phase: "idle" } as const;
    const usual = {
      id: "s",
      place,
      workId: "w1",
      key: "k",
      text: "hello",
      maxBytes: 100,
      isAgain: false,
      isTerminal: true,
    };
    const permit = (request: { readonly toolCall: unknown }) => {
      this.asked.push(JSON.stringify(request.toolCall));
      return this.leave.promise;
    };
    const progress = { send: (_id: string, update: unknown) => void this.progress.push(update) };
    const deps = { clock: this.clock, logger: silentLogger, sessions: this.#sessions(), permit, onEvent: () => {} };
    this.prompt = new BridgePrompt({ ...deps, progress } as never, { ...usual, ...more }, this.stop.signal);
    this.result = this.prompt.run().catch((err: Error) => `${err.name}: ${err.message}`);
  }

  async happens(...steps: readonly object[]): Promise<void> {
    for (const step of steps) this.#events.push({ seq: this.#events.length + 1, epoch: "e1", ...step } as BridgeEvent);
    this.#changed.notify();
    await settle();
  }

  #sessions(): BridgeSessions {
    const called = (name: string) => async () => void this.calls.push(name);
    return {
      ...{ start: called("start"), stop: called("stop"), takeBack: called("takeBack") },
      get: async () => ({ status: "running", error: "", epoch: "e2", lastSeq: 5, ...PARAMETERS }),
      send: async (_id, text, key) => {
        this.calls.push(`send ${key} ${text}`);
        const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
        if (answer instanceof Error) throw answer;
        return answer as InputAnswer;
      },
      events: (_id, _after, signal) => this.#follow(signal),
      dialog: async () => this.shown,
      respond: async (_id, { dialogId, choice }) => {
        this.calls.push(`respond ${dialogId} ${choice}`);
        this.shown = undefined;
      },
      press: async (_id, keys) => {
        this.calls.push(`press ${keys.join(" ")}`);
        const refusal = this.refusals.shift();
        if (refusal !== undefined) throw refusal;
      },
    };
  }

  async *#follow(signal: AbortSignal): AsyncGenerator<BridgeEvent> {
    for (let index = 0; ; ) {
      const event = this.#events[index++];
      if (event !== undefined) yield event;
      else {
        index--;
        await this.#changed.next(signal);
      }
    }
  }
}

const input = { type: "input", key: "k" };
const receipt = (outcome: string) => ({ type: "receipt", key: "k", outcome, error: "" });
const phase = (name: string) => ({ type: "phase", phase: name });
const output = (text: string) => ({ type: "output", text });
const whole = [input, receipt("submitted"), phase("busy"), output("done\n"), phase("idle")];

it("answers with the agent's output, and also sends it as progress", async () => {
  const scene = new Scene();
  await scene.happens(output("before\n"), ...whole);
  expect(await scene.result).toEqual([{ type: "result.success", payload: { text: "done", stop_reason: "end_turn" } }]);
  expect(scene.progress).toEqual([{ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "done\n" } }]);
  expect(scene.calls).toEqual(["send k hello"]);
  expect(scene.clock.sleeping).toBe(0);
});

it("reports which events of the turn are missing", async () => {
  const scene = new Scene();
  const gap = { first: 3, to: 9, reason: "evicted" };
  await scene.happens(input, receipt("submitted"), phase("busy"), { type: "gap", gap }, output("x"), phase("idle"));
  expect(await scene.result).toMatchObject([{ type: "result.success", payload: { text: "x", gaps: [gap] } }]);
});

it("refuses an answer that is too large, and continues", async () => {
  const scene = new Scene({ maxBytes: 3 });
  await scene.happens(...whole);
  expect(await scene.result).toMatchObject([{ type: "result.failure", payload: { reason: "too_large" } }]);
});

it("sends the same key again while the bridge is away or full, after the time that the bridge states", async () => {
  const full = new DomainError("exhausted", "full", { fields: { retry_after_ms: 7000 } });
  const scene = new Scene({}, [full, new DomainError("unavailable", "away"), SUBMITTED]);
  await settle();
  await scene.clock.advance(6999);
  await settle();
  expect(scene.calls).toHaveLength(1);
  await scene.clock.advance(1);
  await settle();
  await scene.clock.advance(1000);
  await scene.happens(...whole);
  expect(await scene.result).toMatchObject([{ type: "result.success" }]);
  expect(scene.calls).toEqual(["send k hello", "send k hello", "send k hello"]);
});

it("is too large for a bridge that refuses the text", async () => {
  const scene = new Scene({}, [new DomainError("invalid", "text is too long")]);
  expect(await scene.result).toMatchObject([{ type: "result.failure", payload: { reason: "too_large" } }]);
});

it.each(["stranded", "unknown"])("is lost when its input is %s", async (outcome) => {
  const scene = new Scene();
  await scene.happens(input, receipt(outcome));
  expect(await scene.result).toBe(`AgentLost: the agent is gone: the input is ${outcome}`);
});

it("is lost if it was sent before and the session has another log", async () => {
  const scene = new Scene({ isAgain: true });
  expect(await scene.result).toMatch(/^AgentLost: .*its session no longer exists at the bridge/);
  expect(scene.calls).toEqual([]);
});

it("may be tried again after a draft, or after a dead agent in a terminal, but not over stdio", async () => {
  const results: unknown[] = [];
  for (const [outcome, isTerminal] of [
    ["composer-busy", true],
    ["agent-dead", true],
    ["agent-dead", false],
  ] as const) {
    const scene = new Scene({ isTerminal });
    await scene.happens(input, receipt(outcome));
    results.push(await scene.result);
  }
  expect(results).toEqual([
    expect.stringMatching(/^NotTaken: .*composer-busy/),
    expect.stringMatching(/^NotTaken: .*agent-dead/),
    expect.stringMatching(/^AgentLost/),
  ]);
});

it("answers a dialog that was already open before it may be tried again", async () => {
  const scene = new Scene();
  scene.shown = DIALOG;
  await scene.happens(input, receipt("blocked-by-dialog"));
  await scene.clock.advance(500);
  await settle();
  expect(scene.asked).toHaveLength(1);
  scene.leave.resolve({ outcome: "selected", optionId: "2" });
  await settle();
  expect(scene.calls).toContain("respond d1 2");
  await scene.clock.advance(500);
  expect(await scene.result).toMatch(/^NotTaken: .*blocked-by-dialog/);
});

it("requests permission for a lasting dialog of its turn, and presses Escape if no choice refuses", async () => {
  const scene = new Scene();
  await scene.happens(input, receipt("submitted"), phase("busy"), {
    type: "dialog-opened",
    dialog: { ...DIALOG, id: "d0" },
  });
  await scene.happens({ type: "dialog-closed" }, { type: "dialog-opened", dialog: DIALOG });
  await scene.clock.advance(500);
  await settle();
  expect(scene.asked).toEqual([expect.stringContaining('"d1"')]);
  scene.leave.resolve({ outcome: "cancelled" });
  await settle();
  expect(scene.calls).toContain("press Escape");
  await scene.happens({ type: "dialog-closed" }, phase("idle"));
  expect(await scene.result).toMatchObject([{ type: "result.success" }]);
});

it("is withdrawn if it is cancelled before it is typed, and interrupted otherwise", async () => {
  const early = new Scene();
  await early.happens(input);
  early.prompt.cancel();
  await settle();
  expect(early.calls).toContain("takeBack");
  await early.happens(receipt("cancelled"));
  expect(await early.result).toEqual([{ type: "result.cancelled", payload: { by: "agent" } }]);
  const late = new Scene();
  await late.happens(input, receipt("submitted"), phase("busy"));
  late.prompt.cancel();
  await settle();
  expect(late.calls).toContain("press Escape");
  await late.happens(phase("idle"));
  expect(await late.result).toEqual([{ type: "result.cancelled", payload: { by: "agent" } }]);
  expect(late.clock.sleeping).toBe(0);
});

it.each(["unavailable", "precondition"] as const)("is interrupted again if a press is %s", async (kind) => {
  const scene = new Scene();
  scene.refusals.push(new DomainError(kind, "not now"));
  await scene.happens(input, receipt("submitted"), phase("busy"));
  scene.prompt.cancel();
  await settle();
  expect(scene.calls.filter((call) => call === "press Escape")).toHaveLength(1);
  await scene.clock.advance(2000);
  expect(scene.calls.filter((call) => call === "press Escape")).toHaveLength(2);
  scene.stop.abort(new Error("enough"));
  await scene.result;
});

it("ends when its signal is aborted", async () => {
  const scene = new Scene();
  await scene.happens(input);
  scene.stop.abort(new Error("drained"));
  expect(await scene.result).toBe("Error: drained");
  await settle();
  expect(scene.clock.sleeping).toBe(0);
});
