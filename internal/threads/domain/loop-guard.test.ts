import { describe, expect, it } from "vitest";
import { FRESH_GUARD, type GuardedMessage, type GuardRule, guard, resetGuard } from "./loop-guard.ts";
import type { GuardState } from "./types.ts";

const LIMITS = { turns: 20, repeats: 3, hops: 20, runaway_per_hour: 200 };

let count = 0;
const say = (more: Partial<GuardedMessage> = {}): GuardedMessage => ({
  ...{ sender: "a", kind: "agent", text: `message ${count++}`, hop: 0, at: 0 },
  ...more,
});

/** The rule that each message broke. */
function run(messages: readonly GuardedMessage[], from: GuardState = FRESH_GUARD) {
  let state = from;
  const rules: (GuardRule | undefined)[] = [];
  for (const message of messages) {
    const step = guard(state, message, LIMITS);
    state = step.state;
    rules.push(step.rule);
  }
  return { state, rules };
}
const many = (length: number, more: (index: number) => Partial<GuardedMessage> = () => ({})) =>
  Array.from({ length }, (_, index) => say(more(index)));
const finding = (text = "null check missing", sender = "reviewer") =>
  say({ sender, text, eventType: "finding_reported", metadata: { path: "a.ts", line: 3 } });

describe("FR-16: no_progress", () => {
  it("blocks at the 20th agent message without progress, not at the 19th", () => {
    expect(run(many(19)).rules.every((rule) => rule === undefined)).toBe(true);
    expect(run(many(20)).rules.at(-1)).toBe("no_progress");
  });

  it.each([
    ["a person's post", say({ kind: "person", sender: "me" })],
    ["a fix with a new commit", say({ eventType: "fix_pushed", metadata: { commit: "c1" } })],
    ["a decision", say({ eventType: "decision" })],
    ["a new finding", finding("something else")],
  ])("counts %s as progress", (_, progress) => {
    const { state } = run([...many(19), progress]);
    expect(run(many(19), state).rules.filter((rule) => rule !== undefined)).toEqual([]);
  });

  it("does not count the same commit twice as progress, nor chat", () => {
    const fix = () => say({ eventType: "fix_pushed", metadata: { commit: "c1" } });
    const { rules } = run([fix(), ...many(18), fix(), ...many(1)]);
    expect(rules.at(-1)).toBe("no_progress");
  });

  it("counts new findings as progress at most 10 times", () => {
    const findings = Array.from({ length: 30 }, (_, index) => finding(`finding ${index}`));
    const { rules } = run(findings);
    expect(rules.indexOf("no_progress")).toBe(29);
  });

  it("counts the thread, not pairs: nine agents in a circle are stopped", () => {
    const { rules } = run(many(20, (index) => ({ sender: `agent-${index % 9}` })));
    expect(rules.at(-1)).toBe("no_progress");
  });
});

describe("FR-16: repeated_finding", () => {
  const answer = () => say({ sender: "fixer" });
  it("blocks the third cycle, not the second", () => {
    expect(run([finding(), answer(), finding()]).rules).toEqual([undefined, undefined, undefined]);
    expect(run([finding(), answer(), finding(), answer(), finding()]).rules.at(-1)).toBe("repeated_finding");
  });

  it("does not count a finding that is repeated before it was answered", () => {
    const { state } = run([finding(), finding()]);
    const [key = ""] = Object.keys(state.findings);
    expect(state.findings[key]?.cycles).toBe(1);
  });

  it("treats texts that differ in case, spaces and final stops as the same", () => {
    const again = () => finding("  Null   check MISSING. ");
    expect(run([finding(), answer(), again(), answer(), finding()]).rules.at(-1)).toBe("repeated_finding");
  });
});

describe("FR-16: other rules", () => {
  it("blocks the third identical text of one sender within 20 messages", () => {
    const thanks = (sender: string) => say({ sender, text: "Thanks!" });
    expect(run([thanks("a"), thanks("b"), thanks("a"), thanks("b")]).rules.every((one) => one === undefined)).toBe(
      true,
    );
    expect(run([thanks("a"), thanks("b"), thanks("a"), thanks("b"), thanks("a")]).rules.at(-1)).toBe("repeated_text");
  });

  it.each([
    [19, undefined],
    [20, "hop_limit"],
    [21, "hop_limit"],
  ])("hop %s: %s", (hop, rule) => {
    expect(guard(FRESH_GUARD, say({ hop }), LIMITS).rule).toBe(rule);
  });

  it("blocks the 200th agent message of an hour, and forgets what is older", () => {
    const progress = (index: number) => ({ eventType: "decision", at: index * 1000 }) as const;
    expect(run(many(199, progress)).rules.every((one) => one === undefined)).toBe(true);
    expect(run(many(200, progress)).rules.at(-1)).toBe("runaway");
    expect(run(many(400, (index) => ({ eventType: "decision", at: index * 20_000 }))).rules.at(-1)).toBeUndefined();
  });

  it("starts again after a reset", () => {
    const { state } = run(many(20));
    expect(state.blockedBy).toBe("guard");
    expect(run(many(19), resetGuard(state)).rules.every((one) => one === undefined)).toBe(true);
  });

  it("stays bounded in memory", () => {
    const { state } = run(many(2000, (index) => ({ eventType: "fix_pushed", metadata: { commit: `c${index}` } })));
    expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(32 * 1024);
  });
});
