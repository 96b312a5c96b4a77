import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { calmTime } from "../support/calm-time.ts";
import { openAttach } from "../support/sidecar/attach-client.ts";
import { demoCommand, RESTART_MS, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

const { SUBMITTED, COMPOSER_BUSY, QUEUED } = NudgeOutcome;

async function attachedCount(sidecar: RunningSidecar, wanted: number): Promise<void> {
  const ask = async () => (await sidecar.client.status({})).attached === wanted || undefined;
  await until(`${wanted} attached`, 30_000, ask);
}

describe("a sidecar whose agent gets input from people and nudges", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
  });
  afterAll(() => sidecar[Symbol.asyncDispose]());

  it("refuses a nudge while a person is typing a text, and keeps a queued nudge waiting", async () => {
    await using ann = openAttach(sidecar.client);
    await ann.sees("> Type a message");
    ann.type("h");
    await ann.sees("> h");
    const busy = await sidecar.client.nudge({ message: "too early" });
    expect(busy).toMatchObject({ outcome: COMPOSER_BUSY, delivered: false, error: "a person is typing" });
    const queued = await sidecar.client.nudge({ message: "patient", mode: NudgeMode.QUEUE, requestId: "patient" });
    expect(queued.outcome).toBe(QUEUED);
    ann.type("ello");
    await ann.sees("> hello");
    ann.type("\r");
    await until("both", 30_000, async () => (await sidecar.taken()).length === 2 || undefined);
    expect(await sidecar.taken()).toEqual(["hello", "patient"]);
    await until("the receipt", 30_000, async () => {
      const { outcome } = await sidecar.client.getNudge({ requestId: "patient" });
      return outcome === SUBMITTED || undefined;
    });
    await sidecar.untilState(AgentState.IDLE);
  });

  it("keeps each text whole and each receipt true while two people and several nudges type concurrently", async () => {
    const before = (await sidecar.taken()).length;
    await using ann = openAttach(sidecar.client, { name: "ann" });
    await using bob = openAttach(sidecar.client, { name: "bob", cols: 80, rows: 24 });
    await ann.hears("notice bob (unverified) is typing here too");
    await attachedCount(sidecar, 2);
    const messages = Array.from({ length: 8 }, (_, i) => `nudge number ${i} with some words in it`);
    const nudges = messages.map((message) =>
      sidecar.client.nudge({ message, timeoutMs: 40_000n, mode: NudgeMode.QUEUE }),
    );
    for (let i = 0; i < 10; i++) {
      (i % 2 === 0 ? ann : bob).type(`p${i}\r`);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    const ids = (await Promise.all(nudges)).map(({ requestId }) => requestId);
    const receipts = await until("all receipts", 60_000, async () => {
      const all = await Promise.all(ids.map((requestId) => sidecar.client.getNudge({ requestId })));
      return all.every(({ outcome }) => outcome !== QUEUED) ? all : undefined;
    });
    await sidecar.untilState(AgentState.IDLE);
    const taken = (await sidecar.taken()).slice(before);
    for (const [i, { outcome }] of receipts.entries()) {
      expect({ i, outcome }).toEqual({ i, outcome: SUBMITTED });
      expect(taken.filter((text) => text === messages[i])).toHaveLength(1);
    }
    // The words of two people in one composer may run together, but no nudge contains a byte of them.
    const typed = taken.filter((text) => !messages.includes(text));
    expect(typed.join("").replaceAll("\n", "")).toBe("p0p1p2p3p4p5p6p7p8p9");
  });

  it("types nothing for a read-only person, whatever that person sends", async () => {
    const before = await sidecar.taken();
    await using eve = openAttach(sidecar.client, { readOnly: true, name: "eve" });
    await eve.sees("> Type a message");
    eve.type("x\r");
    expect(await eve.ended).toMatchObject({ code: Code.PermissionDenied });
    expect(await sidecar.taken()).toEqual(before);
    expect((await sidecar.client.status({})).draft).toBe(false);
  });

  it("counts attached people, and forgets those who detach or are cut off", async () => {
    await using ann = openAttach(sidecar.client);
    await using bob = openAttach(sidecar.client, { readOnly: true });
    await attachedCount(sidecar, 2);
    ann.close();
    await ann.hears("end detached 0");
    expect(await ann.ended).toBeUndefined();
    await attachedCount(sidecar, 1);
    await bob[Symbol.asyncDispose]();
    await attachedCount(sidecar, 0);
  });

  it.each([
    ["a size of zero", { case: "hello", value: { cols: 0, rows: 0 } }],
    ["a window that is too wide", { case: "hello", value: { cols: 501, rows: 30 } }],
    ["keys before the hello", { case: "data", value: Buffer.from("x") }],
  ] as const)("refuses %s", async (_what, first) => {
    await using call = openAttach(sidecar.client, { first });
    expect(await call.ended).toMatchObject({ code: Code.InvalidArgument });
    await attachedCount(sidecar, 0);
  });

  it("waits no longer than five seconds for a hello", async () => {
    await using call = openAttach(sidecar.client, { first: "nothing" });
    const before = performance.now();
    const passed = calmTime();
    expect(await call.ended).toMatchObject({ code: Code.InvalidArgument });
    expect(performance.now() - before).toBeGreaterThan(4900);
    expect(passed()).toBeLessThan(8000);
  });
});

it("Ctrl-C overtakes a flood that one terminal does not read, and that terminal gets the current screen", async () => {
  // "stopped" stands on a line of its own, wherever the key cuts the flood.
  const flood = `trap 'kill $!; printf "\\nstopped"; exec cat' INT; yes ${"0123456789 ".repeat(15)} & wait`;
  await using sidecar = await startSidecar({ agent: "generic", command: ["sh", "-c", flood] });
  const { promise, resolve } = Promise.withResolvers<void>();
  await using stuck = openAttach(sidecar.client, { readOnly: true, readAfter: promise });
  // Without this, an earlier failure would leave the test waiting for this terminal.
  using _ = { [Symbol.dispose]: resolve };
  await using ann = openAttach(sidecar.client);
  // More than the connection buffers (1 MiB) and the output that may wait to be drawn (4 MiB) together.
  await until(
    "8 MB",
    60_000,
    () => ann.bytes() > 8_000_000 || undefined,
    () => String(ann.bytes()),
  );
  // Only the key ends this flood, so it must overtake the output.
  ann.type("\x03");
  await ann.sees("stopped");
  resolve();
  await stuck.sees("stopped");
  await stuck.hears("notice output came faster than this terminal reads it");
});

it("people are notified when the agent has ended and when it was restarted", async () => {
  await using sidecar = await startSidecar((dir) => ({
    agent: "generic",
    command: ["sh", "-c", `echo ready; read line; echo "$line" >> ${join(dir, "lines")}; exit 9`],
    flags: ["--restart", "always"],
  }));
  await using ann = openAttach(sidecar.client);
  await ann.sees("ready");
  ann.type("one\r");
  await ann.hears("notice the agent has ended and is being restarted");
  await ann.hears("notice the agent was restarted (1 so far)");
  expect(await readFile(join(sidecar.dir, "lines"), "utf8")).toBe("one\n");
});

it("a terminal that attaches later gets a full-screen program's modes, even after the serving half was killed", async () => {
  const set = "\\033[?1049h\\033[?1002h\\033[?1006h\\033[?1h\\033=\\033[?25l\\033[3;10rfull screen";
  await using sidecar = await startSidecar({ agent: "generic", command: ["sh", "-c", `printf '${set}'; exec cat`] });
  const modes = async () => {
    let redraw = "";
    const stop = new AbortController();
    const inputs = async function* () {
      const hello = { cols: 100, rows: 30, readOnly: true, name: "" };
      yield { input: { case: "hello" as const, value: hello } };
      await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
    };
    try {
      for await (const { output } of sidecar.client.attach(inputs() as never, { signal: stop.signal })) {
        if (output.case === "data") redraw = Buffer.from(output.value).toString();
        if (redraw.includes("full screen")) break;
      }
    } finally {
      stop.abort();
    }
    const wanted = ["\x1b[?1049h", "\x1b[?1002h", "\x1b[?1006h", "\x1b[?1h", "\x1b[?25l", "\x1b[3;10r"];
    const drawn = redraw.slice(redraw.indexOf("\x1b[2J"));
    return wanted.filter((mode) => !drawn.includes(mode));
  };
  await until(
    "the full screen",
    30_000,
    async () => (await sidecar.client.peek({})).output.includes("full screen") || undefined,
  );
  expect(await modes()).toEqual([]);
  const before = sidecar.servingPid();
  process.kill(before, "SIGKILL");
  await until("the next serving half", RESTART_MS, () => sidecar.servingPid() !== before || undefined);
  await until("its answer", RESTART_MS, async () => (await sidecar.client.status({}).catch(() => undefined)) && true);
  expect(await modes()).toEqual([]);
});

it("a person can still type after a thousand resizes", async () => {
  await using sidecar = await startSidecar((dir) => ({ command: demoCommand(dir) }));
  await sidecar.untilState(AgentState.IDLE);
  await using ann = openAttach(sidecar.client);
  await ann.sees("> Type a message");
  for (let i = 0; i < 1000; i++) ann.resize(40 + (i % 100), 10 + (i % 30));
  ann.resize(90, 25);
  await ann.hears("resized 90x25", 30_000);
  await until("the size", 30_000, async () => (await sidecar.client.status({})).cols === 90 || undefined);
  ann.type("alive\r");
  await until("the message", 30_000, async () => (await sidecar.taken()).length > 0 || undefined);
});
