import fc from "fast-check";
import { expect, it } from "vitest";
import { heldAnswer, heldBody, heldMessages } from "./bodies.ts";
import type { Call } from "./calls.ts";

/** A call that records how many bytes are held. */
function call() {
  const state = { held: 0 };
  const counted: Call = {
    refusal: undefined,
    hold: (bytes) => {
      state.held += bytes;
    },
    release: (bytes) => {
      state.held -= bytes;
    },
    answering: (bytes) => {
      state.held = bytes;
    },
    answered: () => {},
    closed: () => {},
  };
  return { state, call: counted };
}

async function* chunksOf(chunks: readonly Uint8Array[]) {
  yield* chunks;
}

function message(length: number): Uint8Array {
  const framed = Buffer.alloc(5 + length, 0x61);
  framed[0] = 0;
  framed.writeUInt32BE(length, 1);
  return framed;
}

it("a body with one message is held completely, and passed on unchanged", async () => {
  const { state, call: counted } = call();
  const chunks = [Buffer.from("ab"), Buffer.from("cde")];
  const seen: [string, number][] = [];
  for await (const chunk of heldBody(chunksOf(chunks), counted)) seen.push([Buffer.from(chunk).toString(), state.held]);
  expect(seen).toEqual([
    ["ab", 2],
    ["cde", 5],
  ]);
  expect(state.held).toBe(5);
});

it("a body with many messages holds its incomplete message, however it is split", async () => {
  const lengths = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 12 });
  const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(lengths, cuts, async (sizes, steps) => {
      const whole = Buffer.concat(sizes.map(message));
      const ends = sizes.map((_, i) => sizes.slice(0, i + 1).reduce((sum, size) => sum + size + 5, 0));
      const chunks: Uint8Array[] = [];
      for (let at = 0, i = 0; at < whole.length; i++) {
        const step = steps[i % steps.length] ?? 1;
        chunks.push(whole.subarray(at, at + step));
        at += step;
      }
      const { state, call: counted } = call();
      let passed = 0;
      let sinceEnd = 0;
      for await (const chunk of heldMessages(chunksOf(chunks), counted)) {
        // Held: the incomplete part before this chunk, and the chunk.
        expect(state.held).toBe(sinceEnd + chunk.length);
        passed += chunk.length;
        sinceEnd = passed - (ends.findLast((end) => end <= passed) ?? 0);
      }
      expect([passed, state.held]).toEqual([whole.length, sinceEnd]);
    }),
  );
});

it("each part of an answer is held until the next one is requested", async () => {
  const { state, call: counted } = call();
  const seen: [number, number][] = [];
  for await (const part of heldAnswer(chunksOf([Buffer.alloc(3), Buffer.alloc(5)]), counted))
    seen.push([part.length, state.held]);
  expect(seen).toEqual([
    [3, 3],
    [5, 5],
  ]);
  expect(state.held).toBe(0);
});
