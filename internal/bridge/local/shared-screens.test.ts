import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { settle } from "../../../test/support/fake-clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { SidecarOutputUpdateSchema, SidecarWatchRequestSchema, UpdateKind } from "../../gen/gastown/v1/sidecar_pb.ts";
import type { EncodedMessage } from "../session-backend.ts";
import { SharedScreens } from "./shared-screens.ts";

const { SNAPSHOT, CHANGE, HEARTBEAT, END } = UpdateKind;
const never = new AbortController().signal;
const request = create(SidecarWatchRequestSchema, { lines: 5 });

/** A sidecar whose screen the test changes. */
class Screen {
  opened = 0;
  open = 0;
  #updates: EncodedMessage[] = [];
  #failure: Error | undefined;
  readonly #grown = new SignalBus();
  readonly shared = new SharedScreens((_, signal) => this.#stream(signal));

  tell(kind: UpdateKind, output = ""): void {
    this.#updates.push(toBinary(SidecarOutputUpdateSchema, create(SidecarOutputUpdateSchema, { kind, output })));
    this.#grown.notify();
  }

  fail(err: Error): void {
    this.#failure = err;
    this.#grown.notify();
  }

  async *#stream(signal: AbortSignal): AsyncGenerator<EncodedMessage, void> {
    this.opened++;
    this.open++;
    try {
      for (let at = 0; ; ) {
        const update = this.#updates[at];
        if (update !== undefined) {
          at++;
          yield update;
        } else if (this.#failure !== undefined) throw this.#failure;
        else await this.#grown.next(signal);
      }
    } finally {
      this.open--;
    }
  }
}

async function next(reader: AsyncGenerator<EncodedMessage, void>) {
  const { value } = await reader.next();
  if (value === undefined) return undefined;
  const { kind, output } = fromBinary(SidecarOutputUpdateSchema, value);
  return [kind, output];
}

it("gives all watchers the same stream; a later watcher starts with a snapshot", async () => {
  const screen = new Screen();
  screen.tell(SNAPSHOT, "one");
  const first = screen.shared.watch(request, never);
  expect(await next(first)).toEqual([SNAPSHOT, "one"]);
  screen.tell(CHANGE, "two");
  expect(await next(first)).toEqual([CHANGE, "two"]);
  screen.tell(HEARTBEAT);
  expect(await next(first)).toEqual([HEARTBEAT, ""]);
  const second = screen.shared.watch(request, never);
  expect(await next(second)).toEqual([SNAPSHOT, "two"]);
  screen.tell(CHANGE, "three");
  expect([await next(first), await next(second)]).toEqual([
    [CHANGE, "three"],
    [CHANGE, "three"],
  ]);
  screen.tell(END);
  expect([await next(first), await next(second)]).toEqual([
    [END, ""],
    [END, ""],
  ]);
  expect(screen.opened).toBe(1);
});

it("gives a slow watcher the newest picture, and delays no other watcher", async () => {
  const screen = new Screen();
  screen.tell(SNAPSHOT, "0");
  const [fast, slow] = [screen.shared.watch(request, never), screen.shared.watch(request, never)];
  await Promise.all([next(fast), next(slow)]);
  for (const text of ["1", "2", "3"]) {
    screen.tell(CHANGE, text);
    expect(await next(fast)).toEqual([CHANGE, text]);
  }
  expect(await next(slow)).toEqual([CHANGE, "3"]);
});

it("ends the stream with its last watcher, and opens another for the next", async () => {
  const screen = new Screen();
  screen.tell(SNAPSHOT, "one");
  const readers = [screen.shared.watch(request, never), screen.shared.watch(request, never)];
  for (const reader of readers) await next(reader);
  await readers[0]?.return();
  await settle();
  expect(screen.open).toBe(1);
  await readers[1]?.return();
  await settle();
  expect(screen.open).toBe(0);
  expect(await next(screen.shared.watch(request, never))).toEqual([SNAPSHOT, "one"]);
  expect(screen.opened).toBe(2);
});

it("opens a stream for each size and rate, and reports a failure to all who share it", async () => {
  const screen = new Screen();
  screen.tell(SNAPSHOT, "one");
  const other = create(SidecarWatchRequestSchema, { lines: 6 });
  const readers = [request, request, other].map((one) => screen.shared.watch(one, never));
  for (const reader of readers) await next(reader);
  expect(screen.opened).toBe(2);
  const failing = readers.map((reader) => reader.next());
  screen.fail(new Error("cut"));
  for (const reader of failing) await expect(reader).rejects.toThrow("cut");
});
