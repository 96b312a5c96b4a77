import { describe, expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { FRESH_GUARD, type GuardedMessage, type GuardRule, guard, resetGuard } from "./loop-guard.ts";
import { DEFAULT_POLICY } from "./policy.ts";
import type { GuardState } from "./types.ts";

const { turns, repeats, hops, runaway_per_hour } = DEFAULT_POLICY;
const HOUR_MS = 3_600_000;

let count = 0;
const say = (more: Partial<GuardedMessage> = {}): GuardedMessage => ({
  ...{ sender: "a", kind: "agent", text: `text ${count++}`, hop: 0, at: 0 },
  ...more,
});
const progress = (more: Partial<GuardedMessage> = {}) => say({ eventType: "decision", ...more });
const times = (length: number, one: (at: number) => readonly GuardedMessage[]) =>
  Array.from({ length }, (_, at) => one(at)).flat();

/** The first rule that is broken, and the number of messages up to it. */
function blockOf(messages: readonly GuardedMessage[]): readonly [GuardRule | undefined, number] {
  let state: GuardState = FRESH_GUARD;
  for (const [at, message] of messages.entries()) {
    const step = guard(state, message, DEFAULT_POLICY);
    if (step.rule !== undefined) return [step.rule, at + 1];
    state = step.state;
  }
  return [undefined, messages.length];
}

const finding = () => say({ text: "NaN", eventType: "finding_reported", metadata: { path: "a.ts", line: 1 } });
const answered = (cycles: number) =>
  times(cycles, () => [finding(), say({ sender: "b", eventType: "decision" })]).slice(0, -1);

/** By rule: the count at which it blocks a thread, and a conversation that reaches a given count. */
const EDGES: readonly (readonly [GuardRule, number, (reached: number) => readonly GuardedMessage[]])[] = [
  ["no_progress", turns, (reached) => times(reached, () => [say()])],
  ["repeated_finding", repeats, answered],
  ["repeated_text", repeats, (reached) => times(reached, () => [progress({ text: "Thanks!" })])],
  ["hop_limit", hops, (reached) => times(reached, (at) => [progress({ hop: at + 1 })])],
  ["runaway", runaway_per_hour, (reached) => times(reached, (at) => [progress({ at: at * 10 })])],
];

describe.each(EDGES)("FR-16: %s, at %i", (rule, edge, conversation) => {
  it.each([
    ["one before", edge - 1, undefined],
    ["at", edge, rule],
    ["after", edge + 1, rule],
  ])("%s its edge: %i counted, %s", (_, reached, wanted) => {
    const messages = conversation(reached);
    const [broken, taken] = blockOf(messages);
    expect(broken).toBe(wanted);
    if (wanted !== undefined) expect(taken).toBe(conversation(edge).length);
  });
});

describe("FR-16: the same text is counted within 20 messages", () => {
  it.each([
    [17, "repeated_text"],
    [18, undefined],
  ] as const)("with %i others between the first and the last: %s", (between, wanted) => {
    const thanks = () => progress({ text: "thanks" });
    const others = times(between - 1, () => [progress({ sender: "b" })]);
    expect(blockOf([thanks(), thanks(), ...others, progress({ sender: "b" }), thanks()])[0]).toBe(wanted);
  });
});

describe("FR-16: messages of the last hour", () => {
  it.each([
    ["within", HOUR_MS - 1, "runaway"],
    ["at the end of", HOUR_MS, undefined],
  ] as const)("the first one %s the hour", (_, last, wanted) => {
    const first = times(runaway_per_hour - 1, () => [progress({ at: 0 })]);
    expect(blockOf([...first, progress({ at: last })])[0]).toBe(wanted);
  });
});

describe("FR-16: generated conversations", () => {
  const sender = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h", "i");
  const chat = fc.record({ sender, text: fc.string({ maxLength: 8 }), hop: fc.nat(5) });

  it("without progress never go beyond 20 messages", () => {
    fc.assert(
      fc.property(fc.array(chat, { minLength: turns, maxLength: 60 }), (said) => {
        const [rule, taken] = blockOf(said.map((one) => say({ ...one, at: 0 })));
        expect(rule).toBeDefined();
        expect(taken).toBeLessThanOrEqual(turns);
      }),
    );
  });

  it("with a person in every 19 messages, and nothing said twice, are never blocked", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: turns - 1 }), { maxLength: 9 }),
        fc.array(sender, { minLength: 1 }),
        (runs, who) => {
          const said = runs.flatMap((length) => [
            ...times(length, (at) => [say({ sender: who[at % who.length] ?? "a" })]),
            say({ kind: "person", sender: "me" }),
          ]);
          expect(blockOf(said)[0]).toBeUndefined();
        },
      ),
    );
  });

  it("are blocked no later than before when a message without progress is added", () => {
    fc.assert(
      fc.property(fc.array(chat, { maxLength: 30 }), fc.nat(29), (said, where) => {
        const messages = said.map((one) => say({ ...one, at: 0 }));
        const more = messages.toSpliced(where, 0, say({ sender: "z" }));
        const [rule, taken] = blockOf(messages);
        if (rule === "no_progress") expect(blockOf(more)[1]).toBeLessThanOrEqual(taken);
      }),
    );
  });

  it("keep a bounded state, and start again when they are unblocked", () => {
    fc.assert(
      fc.property(fc.array(chat, { maxLength: 400 }), (said) => {
        let state: GuardState = FRESH_GUARD;
        for (const one of said) state = guard(state, say({ ...one, at: 0 }), DEFAULT_POLICY).state;
        expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(64 * 1024);
        const { turns: _, ...fresh } = guard(resetGuard(state), say(), DEFAULT_POLICY).state;
        expect(fresh.blockedBy).toBeUndefined();
      }),
      { numRuns: 30 },
    );
  });
});
