import { expect, it } from "vitest";
import { z } from "zod";
import { type Graph, nodeOf, runTurn, type Step, spendPass } from "./engine.ts";

interface State {
  readonly input: string;
  readonly secret: string;
  readonly answer: string;
  readonly list: readonly { readonly name: string }[];
}

const channels = {
  ...{ input: z.string(), secret: z.string(), answer: z.string() },
  list: z.array(z.strictObject({ name: z.string() })),
};
const begun: State = { input: "in", secret: "s3cret", answer: "", list: [{ name: "one" }] };
const step: Step = { turn: "t1", signal: new AbortController().signal };
const node = nodeOf<State>();

/** A node that may write `answer` and `list`, and returns whatever it is given here. */
function returning(result: unknown) {
  return node({
    name: "odd",
    reads: ["input"],
    writes: ["answer", "list"],
    run: async () => result as { answer: string },
  });
}

it("gives a node frozen copies of the channels that it reads", async () => {
  let seen: unknown;
  const first = node({
    name: "reader",
    reads: ["input", "list"],
    writes: ["answer"],
    async run(state) {
      seen = state;
      expect(() => Object.assign(state.list[0] ?? {}, { name: "two" })).toThrow(TypeError);
      return { answer: `${state.input}!` };
    },
  });
  const state = await runTurn({ channels, first }, begun, step);
  expect(seen).toEqual({ input: "in", list: [{ name: "one" }] });
  expect(state).toEqual({ ...begun, answer: "in!" });
});

it("does not compile a node that reads or writes undeclared channels", () => {
  node({
    name: "writer",
    reads: ["input"],
    writes: ["answer"],
    // @ts-expect-error: it writes a channel that is not in its writes
    run: async () => ({ answer: "", secret: "told" }),
  });
  node({
    name: "reader",
    reads: ["input"],
    writes: ["answer"],
    // @ts-expect-error: it reads a channel that is not in its reads
    run: async ({ secret }) => ({ answer: secret }),
  });
  // @ts-expect-error: there is no such channel
  node({ name: "other", reads: ["admin"], writes: ["answer"], run: async () => ({ answer: "" }) });
});

const hidden = Object.defineProperty({ answer: "a" }, "secret", { value: "x", enumerable: false });
const getter = Object.defineProperty({}, "answer", { get: () => "a", enumerable: true });
const nestedGetter = { list: [Object.defineProperty({}, "name", { get: () => "a", enumerable: true })] };
class Carrier {
  answer = "a";
}

it.each([
  ["another key", { answer: "a", secret: "x" }, "another key"],
  ["a symbol", { answer: "a", [Symbol("secret")]: "x" }, "another key"],
  ["a hidden key", hidden, "another key"],
  ["__proto__ as a key", JSON.parse('{"answer": "a", "__proto__": {"secret": "x"}}'), "another key"],
  ["an inherited key", Object.create({ answer: "a" }), "result"],
  ["an instance of a class", new Carrier(), "result"],
  ["a proxy", new Proxy({ answer: "a" }, {}), "result"],
  ["a getter", getter, "answer"],
  ["a nested getter", nestedGetter, "list"],
  ["a nested key too many", { list: [{ name: "a", secret: "x" }] }, "list"],
  ["a nested symbol", { list: [{ name: "a", [Symbol("s")]: "x" }] }, "list"],
  ["a list with a property", { list: Object.assign([{ name: "a" }], { secret: "x" }) }, "list"],
  ["another type", { answer: 1 }, "answer"],
  ["an ill-formed string", { answer: "\ud800" }, "answer"],
  ["a function", { answer: () => "a" }, "answer"],
  ["nothing", undefined, "result"],
])("writes nothing if a result has %s", async (_, result, channel) => {
  const failure = await runTurn({ channels, first: returning(result) }, begun, step).catch((err: Error) => err.message);
  expect(failure).toMatch(new RegExp(`^contract_violation: node odd, ${channel}: `));
  expect(failure).not.toMatch(/secret|told|\bx\b/);
});

it("follows the edge that the state chooses, with a pass only for a guarded node", async () => {
  const passes: unknown[] = [];
  const target = (name: string) =>
    node({
      ...{ name, reads: ["input"], writes: ["answer"] },
      async run(_state, { pass }) {
        passes.push(pass);
        return { answer: name };
      },
    });
  const graph = (to: string): Graph<State, "input"> => ({
    channels,
    first: node({ name: "first", reads: [], writes: [], run: async () => ({}) }),
    edge: {
      reads: ["input"],
      to: { open: target("open"), guarded: target("guarded") },
      guarded: ["guarded"],
      choose: () => to,
    },
  });
  expect((await runTurn(graph("open"), begun, step)).answer).toBe("open");
  expect((await runTurn(graph("guarded"), begun, step)).answer).toBe("guarded");
  const [none, pass] = passes;
  expect(none).toBeUndefined();
  expect(spendPass(structuredClone(pass), "t1", "guarded")).toBe(false);
  expect(spendPass(Object.create(pass as object), "t1", "guarded")).toBe(false);
  expect(spendPass(pass, "t2", "guarded")).toBe(false);
  expect(spendPass(pass, "t1", "open")).toBe(false);
  expect(spendPass(pass, "t1", "guarded")).toBe(true);
  expect(spendPass(pass, "t1", "guarded")).toBe(false);
  await expect(runTurn(graph("toString"), begun, step)).rejects.toThrow("the edge leads to no node");
});
