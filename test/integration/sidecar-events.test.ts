import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentState, EventType, GapReason, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { ErrorInfoSchema } from "../../internal/gen/google/rpc/error_details_pb.ts";
import { SidecarEventReader } from "../support/sidecar/event-reader.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

/** An unknown program: a shell that runs this script. */
const shell = (script: string, ...flags: string[]) =>
  startSidecar({ agent: "generic", command: ["/bin/sh", "-c", script], flags });

async function killServing(sidecar: RunningSidecar): Promise<void> {
  const before = sidecar.servingPid();
  process.kill(before, "SIGKILL");
  await until("the next serving half", 30_000, () => sidecar.servingPid() !== before || undefined, sidecar.log);
}

describe("the stream of one session", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar();
  });
  beforeEach(() => sidecar.untilState(AgentState.IDLE));
  afterAll(() => sidecar?.[Symbol.asyncDispose]());

  it("sends its headers before any event, and then the next event", async () => {
    await using before = new SidecarEventReader(sidecar.client);
    await before.until("idle", ({ state }) => state === AgentState.IDLE);
    const { seq: afterSeq = 0n, epoch = "" } = before.events.at(-1) ?? {};
    const began = Promise.withResolvers<void>();
    const stop = new AbortController();
    const options = { signal: stop.signal, onHeader: () => began.resolve() };
    const first = sidecar.client.streamEvents({ afterSeq, epoch }, options)[Symbol.asyncIterator]().next();
    await began.promise;
    await sidecar.client.nudge({ message: "now", requestId: "now", mode: 3 });
    expect((await first).value).toMatchObject({ seq: afterSeq + 1n, type: EventType.INPUT_RECEIVED, requestId: "now" });
    stop.abort();
  });

  it("contains each line of a turn once, and neither the input box nor the spinner", async () => {
    await using reader = new SidecarEventReader(sidecar.client);
    await reader.until("idle", ({ state }) => state === AgentState.IDLE);
    await sidecar.client.nudge({ message: "lines: 120" });
    await reader.until("the end", ({ text }) => text.includes("line 120 of 120"));
    await sidecar.untilState(AgentState.IDLE);
    await sidecar.client.nudge({ message: "lines: 3" });
    await reader.until("the second end", ({ text }) => text.includes("line 3 of 3"));
    const lines = reader.text.split("\n").filter((line) => /^line \d+ of/.test(line));
    expect(lines).toEqual([
      ...Array.from({ length: 120 }, (_, i) => `line ${i + 1} of 120`),
      ...Array.from({ length: 3 }, (_, i) => `line ${i + 1} of 3`),
    ]);
    expect(reader.text).not.toMatch(/Type a message|esc to interrupt|────/);
  });

  it("is refused with another epoch or a number beyond the head, and the refusal contains the current ones", async () => {
    const { epoch } = await firstEvent(sidecar, "");
    const refusal = async (call: Promise<unknown>) => {
      const err = ConnectError.from(await call.catch((reason: unknown) => reason));
      return { code: err.code, ...err.findDetails(ErrorInfoSchema)[0]?.metadata };
    };
    const stream = async (request: { afterSeq?: bigint; epoch?: string; subscriberId?: string }) => {
      for await (const _ of sidecar.client.streamEvents(request)) return;
    };
    const stale = { code: Code.FailedPrecondition, epoch, head: expect.stringMatching(/^\d+$/) };
    expect(await refusal(stream({ epoch: "another" }))).toMatchObject(stale);
    expect(await refusal(stream({ afterSeq: 99_999n }))).toMatchObject(stale);
    const { ackEvents } = sidecar.client;
    expect(await refusal(ackEvents({ subscriberId: "a", ackSeq: 99_999n, epoch }))).toMatchObject(stale);
    expect(await refusal(ackEvents({ subscriberId: "a", ackSeq: 1n, epoch: "another" }))).toMatchObject(stale);
    const invalid = { code: Code.InvalidArgument };
    expect(await refusal(ackEvents({ ackSeq: 1n, epoch }))).toMatchObject(invalid);
    expect(await refusal(ackEvents({ subscriberId: "a b", ackSeq: 1n, epoch }))).toMatchObject(invalid);
    expect(await refusal(stream({ subscriberId: "x".repeat(129) }))).toMatchObject(invalid);
  });

  it("ends with `unavailable` when the sidecar is asked to stop", async () => {
    const read = async () => {
      for await (const event of sidecar.client.streamEvents({})) if (event.done) return "done";
      return "end";
    };
    const reading = read().catch((err: unknown) => ConnectError.from(err).code);
    sidecar.process.kill("SIGTERM");
    expect(await reading).toBe(Code.Unavailable);
  });
});

describe("a session's events", () => {
  it("report everything that happens, in order, and end with the session", async () => {
    await using sidecar = await startSidecar((dir) => ({
      flags: ["--linger", "5s"],
      command: demoCommand(dir, "--faults", "exit-on=crash,exit-code=7"),
    }));
    await using reader = new SidecarEventReader(sidecar.client);
    await reader.until("idle", ({ state }) => state === AgentState.IDLE);
    await sidecar.client.nudge({ message: "say password: hunter2 twice", requestId: "first", sender: "me" });
    await reader.until("its receipt", ({ receipt }) => receipt?.requestId === "first");
    await reader.until("its answer", ({ text }) => text.includes("Read your message"));

    await sidecar.client.nudge({ message: "please run: x", requestId: "second" });
    const { dialog } = await reader.until("a dialog", ({ type }) => type === EventType.DIALOG_OPENED);
    await sidecar.client.respond({ dialogId: dialog?.id ?? "", choice: dialog?.choices[0]?.key ?? "" });
    const closed = await reader.until("its end", ({ type }) => type === EventType.DIALOG_CLOSED);
    expect(closed.dialog?.id).toBe(dialog?.id);

    await sidecar.untilState(AgentState.IDLE);
    await sidecar.client.nudge({ message: "crash", mode: 3 });
    const failed = await reader.until("the failure", ({ type }) => type === EventType.SESSION_FAILED);
    expect(failed).toMatchObject({ done: false, error: "the agent ended with exit code 7", stream: "system" });
    const isStart = ({ type }: { readonly type: EventType }) => type === EventType.SESSION_STARTED;
    await until("its next life", 30_000, () => reader.events.filter(isStart)[1]);
    await sidecar.untilState(AgentState.IDLE);
    await sidecar.client.sendKeys({ text: "/exit" });
    await sidecar.client.sendKeys({ keys: ["Enter"] });
    await reader.ended;

    expect(reader.faults).toEqual([]);
    expect(reader.events.at(-1)).toMatchObject({ type: EventType.SESSION_STOPPED, done: true, error: "" });
    expect(reader.events.filter(({ done }) => done)).toHaveLength(1);
    expect(reader.events[0]).toMatchObject({
      seq: 1n,
      type: EventType.SESSION_STARTED,
      provider: "demo",
      projectId: "default",
    });
    const of = (id: string) => reader.events.filter(({ requestId }) => requestId === id);
    expect(of("first").map(({ type }) => type)).toEqual([EventType.INPUT_RECEIVED, EventType.NUDGE_RECEIPT]);
    expect(of("first")[0]?.text).toBe("say [redacted] twice");
    expect(of("first")[1]?.receipt).toMatchObject({ outcome: NudgeOutcome.SUBMITTED, sender: "me (unverified)" });
    expect(of("first")[1]?.receipt?.evidence.length).toBeGreaterThan(0);
    const states = reader.events.filter(({ type }) => type === EventType.PHASE_CHANGED).map(({ state }) => state);
    expect(states).toEqual(
      expect.arrayContaining([AgentState.BUSY, AgentState.DIALOG, AgentState.IDLE, AgentState.STARTING]),
    );
    for (const event of reader.events) expect(event.sessionId).toBe(reader.events[0]?.sessionId);
    expect(JSON.stringify(reader.events, (_, value) => (typeof value === "bigint" ? 0 : value))).not.toContain(
      "hunter2",
    );
  });

  it("of a program on the alternate screen contain only changed lines", async () => {
    await using sidecar = await startSidecar((dir) => ({ command: demoCommand(dir, "--alternate-screen") }));
    await using reader = new SidecarEventReader(sidecar.client);
    await reader.until("idle", ({ state }) => state === AgentState.IDLE);
    await sidecar.client.nudge({ message: "hello there" });
    await reader.until("the answer", ({ text }) => text.includes("Read your message"));
    expect(reader.text.match(/Demo agent/g)).toHaveLength(1);
    expect(reader.text.match(/> hello there/g)).toHaveLength(1);
  });
});

describe("a reader", () => {
  it("gets every event once or in a gap, while the serving half is killed ten times", async () => {
    await using sidecar = await shell("i=0; while :; do i=$((i+1)); echo number $i; sleep 0.004; done");
    await using reader = new SidecarEventReader(sidecar.client);
    for (let i = 0; i < 10; i++) {
      const seen = reader.events.length;
      await until("more lines", 30_000, () => reader.events.slice(seen).find(({ text }) => text !== ""), sidecar.log);
      await sleep((i * 37) % 300);
      await killServing(sidecar);
    }
    const breaks = reader.breaks;
    const before = reader.events.length;
    await until("the last lines", 30_000, () => reader.events.slice(before).find(({ text }) => text !== ""));
    expect(breaks).toBeGreaterThanOrEqual(10);
    expect(reader.faults).toEqual([]);
    expect(reader.countGaps(GapReason.RESTART)).toBe(10);
    expect(missingNumbers(reader)).toEqual([]);
  }, 300_000);

  it("that is too slow learns what it missed, and others are not delayed", async () => {
    const untilTold = "while [ ! -e go ]; do sleep 0.05; done";
    const batch = "seq -f 'number %.0f' $((i*10000+1)) $((i*10000+10000))";
    const flood = `i=0; while [ $i -lt 10 ]; do ${batch}; i=$((i+1)); sleep 0.3; done`;
    await using sidecar = await shell(
      `${untilTold}; ${flood}; sleep 1000`,
      "--event-buffer",
      "100",
      "--event-bytes",
      "262144",
    );
    // With HTTP/2's default window of 64 KiB: the agent prints more than that, and then more than the log holds.
    const transport = createConnectTransport({ baseUrl: sidecar.url, httpVersion: "2" });
    await using slow = new SidecarEventReader(createClient(SidecarService, transport));
    await using quick = new SidecarEventReader(sidecar.client);
    await slow.until("the first", () => true);
    slow.isPaused = true;
    await writeFile(join(sidecar.dir, "go"), "");
    await quick.until("the end of the flood", ({ text }) => text.includes("number 100000\n"));
    slow.isPaused = false;
    await slow.until("the end of the flood", ({ text }) => text.includes("number 100000\n"));
    expect([slow.faults, quick.faults]).toEqual([[], []]);
    expect(slow.countGaps(GapReason.SLOW_READER)).toBeGreaterThan(0);
    expect(missingNumbers(quick)).toEqual([]);
    expect(missingNumbers(slow)).toEqual([]);
  });

  it("continues after its acknowledgement, even after a crash, while others begin at the start", async () => {
    await using sidecar = await shell("seq 1 500; sleep 1000");
    await using reader = new SidecarEventReader(sidecar.client);
    await reader.until("the pause", ({ text }) => text.includes("500\n"));
    const { epoch, seq } = reader.events.at(-1) ?? { epoch: "", seq: 0n };
    await sidecar.client.ackEvents({ subscriberId: "a", ackSeq: seq - 1n, epoch });
    await sidecar.client.ackEvents({ subscriberId: "a", ackSeq: 1n, epoch });
    expect((await firstEvent(sidecar, "a")).seq).toBe(seq);
    expect((await firstEvent(sidecar, "b")).seq).toBe(1n);
    await killServing(sidecar);
    const resumed = await until("an event", 30_000, () => firstEvent(sidecar, "a").catch(() => undefined));
    expect(resumed).toMatchObject({ type: EventType.BUFFER_OVERFLOW, epoch });
    expect(resumed.gap).toMatchObject({ first: seq, reason: GapReason.RESTART });
    expect(resumed.gap?.to).toBe(resumed.seq + 1n);
  });

  it("of another gRPC implementation gets the same events", async () => {
    await using sidecar = await shell("echo hello; sleep 1000");
    const includeDirs = [fileURLToPath(new URL("../../proto/", import.meta.url))];
    const definition = loadPackageDefinition(
      loadSync("gastown/v1/sidecar.proto", { includeDirs, longs: String, enums: String, keepCase: true }),
    );
    const gastown = definition["gastown"] as unknown as { v1: { SidecarService: ServiceClientConstructor } };
    interface Plain {
      readonly seq: string;
      readonly type: string;
      readonly text: string;
    }
    const client = new gastown.v1.SidecarService(`127.0.0.1:${sidecar.port}`, credentials.createInsecure());
    const events: Plain[] = [];
    try {
      const open = client["StreamEvents"] as unknown as (request: object) => AsyncIterable<Plain> & { cancel(): void };
      const call = open.call(client, { subscriber_id: "grpc-js" });
      for await (const event of call) {
        events.push(event);
        if (event.type === "EVENT_TYPE_STDOUT") break;
      }
      call.cancel();
    } finally {
      client.close();
    }
    expect(events[0]).toMatchObject({ seq: "1", type: "EVENT_TYPE_SESSION_STARTED" });
    expect(events.at(-1)).toMatchObject({ type: "EVENT_TYPE_STDOUT", text: "hello\n" });
  });
});

describe("secrets", () => {
  it("are in no event, wherever the terminal or a pause splits them, but stay on the screen", async () => {
    const secret = "s3cr3t".repeat(60);
    const wrapped = `printf '%150s token=%s\\n' x ${secret}`;
    const paused = "printf 'password: '; sleep 0.3; printf 'hun'; sleep 0.3; echo ter2";
    await using sidecar = await shell(
      `${wrapped}; ${paused}; echo key-ABC123; seq 1 60; sleep 1000`,
      "--redact-pattern",
      "key-[A-Z0-9]+",
      "--redact-pattern",
      "(?i)(token|password)\\s*[:=]\\s*\\S+",
    );
    await using reader = new SidecarEventReader(sidecar.client);
    await reader.until("the pause", ({ text }) => text.includes("60\n"));
    expect(reader.text).not.toMatch(/s3cr3t|hun|ter2|ABC/);
    expect(reader.text.match(/\[redacted\]/g)).toHaveLength(3);
    expect((await sidecar.client.peek({ all: true, joinWrapped: true })).output).toContain(`token=${secret}`);
    expect(sidecar.log()).not.toMatch(/s3cr3t|ter2/);
  });
});

/** Returns the places where the lines' numbers are not consecutive, except at a reported gap. */
function missingNumbers(reader: SidecarEventReader): string[] {
  const wrong: string[] = [];
  let last: number | undefined;
  let text = "";
  const check = () => {
    for (const [, digits] of text.matchAll(/number (\d+)\n/g)) {
      const number = Number(digits);
      if (last !== undefined && number !== last + 1) wrong.push(`${number} after ${last}`);
      last = number;
    }
    text = "";
  };
  for (const event of reader.events) {
    text += event.text;
    if (event.gap === undefined) continue;
    check();
    last = undefined;
  }
  check();
  return wrong;
}

async function firstEvent(sidecar: RunningSidecar, subscriberId: string) {
  const stop = new AbortController();
  try {
    for await (const event of sidecar.client.streamEvents({ subscriberId }, { signal: stop.signal })) return event;
    throw new Error("no event");
  } finally {
    stop.abort();
  }
}
