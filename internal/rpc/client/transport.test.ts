import { expect, it } from "vitest";
import { abortOnExit } from "./transport.ts";

async function* numbers(signal: AbortSignal) {
  for (let i = 0; !signal.aborted; i++) yield i;
}

it.each<[string, (stream: AsyncIterable<number>) => Promise<void>]>([
  [
    "break",
    async (stream) => {
      for await (const _ of stream) break;
    },
  ],
  [
    "throw",
    async (stream) => {
      for await (const _ of stream) throw new Error("enough");
    },
  ],
])("cancels the stream when the loop is left by %s", async (_how, leave) => {
  let opened: AbortSignal | undefined;
  const stream = abortOnExit((signal) => {
    opened = signal;
    return numbers(signal);
  });
  await leave(stream).catch(() => {});
  expect(opened?.aborted).toBe(true);
});

it("passes on an abort with its reason", async () => {
  const stop = new AbortController();
  let opened: AbortSignal | undefined;
  const stream = abortOnExit((signal) => {
    opened = signal;
    return numbers(signal);
  }, stop.signal);
  await stream.next();
  stop.abort("why");
  expect(opened?.reason).toBe("why");
});

it("opens nothing until it is read", async () => {
  let opened = false;
  const stream = abortOnExit((signal) => {
    opened = true;
    return numbers(signal);
  });
  expect(opened).toBe(false);
  await stream.next();
  expect(opened).toBe(true);
  await stream.return();
});
