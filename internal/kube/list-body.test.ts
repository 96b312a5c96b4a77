import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readList } from "./list-body.ts";

const MAX = 1 << 20;
const whole = (item: unknown) => item;

async function* cut(bytes: Uint8Array, ...places: readonly number[]): AsyncGenerator<Uint8Array> {
  const ends = [...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (const [i, end] of ends.entries()) yield bytes.subarray(ends[i - 1] ?? 0, end);
}

const read = (text: string, keep: (item: unknown) => unknown = whole, maxBytes = MAX) =>
  readList(cut(Buffer.from(text)), keep, maxBytes);

/** Objects like the API server's, with strings that contain characters of the marks. */
const hostileText = fc.stringMatching(/^(["\\{}[\],:ö€😀 ]|items)*$/u);
const value = fc.letrec((tie) => ({
  any: fc.oneof({ maxDepth: 3 }, hostileText, fc.integer(), fc.constant(null), tie("list"), tie("map")),
  list: fc.array(tie("any"), { maxLength: 3 }),
  map: fc.dictionary(hostileText, tie("any"), { maxKeys: 3 }),
})).any;
const list = fc.record({
  kind: hostileText,
  metadata: fc.dictionary(hostileText, value, { maxKeys: 3 }),
  items: fc.array(value, { maxLength: 6 }),
});
const places = fc.array(fc.nat(), { maxLength: 8 });
const spaces = fc.constantFrom(undefined, 2, "\t");

describe("a list that is parsed item by item", () => {
  it("equals the result of JSON.parse, wherever its bytes are split and however it is indented", async () => {
    await fc.assert(
      fc.asyncProperty(list, spaces, places, async (object, space, at) => {
        const seen: unknown[] = [];
        const keep = (item: unknown) => seen.push(item);
        const body = Buffer.from(JSON.stringify(object, null, space));
        const answer = await readList(cut(body, ...at), keep, MAX);
        const parsed = JSON.parse(body.toString());
        expect(seen).toEqual(parsed.items);
        expect(answer).toEqual({ ...parsed, items: seen.map((_, i) => i + 1) });
      }),
    );
  });

  it("is refused if it ends early, at any position", async () => {
    await fc.assert(
      fc.asyncProperty(list, fc.nat(), places, async (object, length, at) => {
        const body = Buffer.from(JSON.stringify(object));
        const early = body.subarray(0, length % body.length);
        await expect(readList(cut(early, ...at), whole, MAX)).rejects.toThrow(SyntaxError);
      }),
    );
  });

  it("is the same if it is split between any two bytes", async () => {
    const text = String.raw`{"kind":"L","items":[{"a":"\"]}ö\\"},[1,{"b":[]}],"x"],"metadata":{"continue":"a,b","c":[2,3]}}`;
    const bytes = Buffer.from(text);
    for (let place = 0; place <= bytes.length; place++) {
      expect(await readList(cut(bytes, place), whole, MAX)).toEqual(JSON.parse(text));
    }
  });

  it.each([
    "null",
    "7",
    '"x"',
    "[]",
    "{}",
    '{"items":null}',
    '{"kind":"Status","code":410,"details":{"causes":[{"a":1}]}}',
  ])("returns %s unchanged, because it is not a list", async (text) => {
    expect(await read(text)).toEqual(JSON.parse(text));
  });

  it.each([
    "",
    "<html>",
    '{"items":[{}}',
    '{"items":[{}}]}',
    '{"items":[{},]}',
    '{"items":[,{}]}',
    '{"items":[{} {}]}',
    '{"items":[{}]]}',
    '{"items":[{}]} {}',
    '{"items":[{"a":]}',
    '{"items":[nothing]}',
  ])("refuses %s", async (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    await expect(read(text)).rejects.toThrow(SyntaxError);
  });

  it("is refused if it has a second array of items", async () => {
    await expect(read('{"items":[1],"more":[2]}')).rejects.toMatchObject({ kind: "unavailable" });
  });

  it.each([
    ["an item", `{"items":[1,"${"x".repeat(100)}"]}`],
    ["the text before the items", `{"kind":"${"x".repeat(100)}","items":[1]}`],
    ["the text after the items", `{"items":[1],"metadata":{"continue":"${"x".repeat(100)}"}}`],
  ])("may have a limited number of bytes in %s", async (_, text) => {
    await expect(read(text, whole, 100)).rejects.toMatchObject({ kind: "exhausted" });
    expect(await read(text, whole, 200)).toEqual(JSON.parse(text));
  });

  it("is not kept as a whole: each item is converted before the next one arrives", async () => {
    let made = 0;
    const seen: number[] = [];
    async function* items(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"items":[0');
      for (let i = 1; i < 5; i++) {
        yield Buffer.from(`,${i}`);
        seen.push(made);
      }
      yield Buffer.from("]}");
    }
    await readList(items(), () => ++made, MAX);
    expect(seen).toEqual([1, 2, 3, 4]);
  });
});
