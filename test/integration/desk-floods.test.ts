import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { attend } from "../../internal/desk/launch/presence.ts";
import { PublicEvent_Type as EventType, FrontService } from "../../internal/gen/desk/v1/desk_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { type DeskBed, deskBed, parseJsonLines } from "../support/desk/desk-bed.ts";

const BUSY_MS = 300_000;
/** The memory that the front may use for its callers, KiB; waiting answers are 24 MiB of it, and copies of them. */
const ROOM_KIB = 400 * 1024;

function socketOf(bed: DeskBed): string {
  return bed
    .read(".desk/front/address")
    .trim()
    .replace(/^unix:/, "");
}

/** A desk whose front stays until the end. */
async function openDesk(files: Readonly<Record<string, string>> = {}) {
  const bed = deskBed(files);
  await bed.run(["--mode", "admin"], "exit\n");
  const attended = await attend(bed.path(".desk/front/presence.sock"));
  return {
    bed,
    async [Symbol.asyncDispose]() {
      attended[Symbol.dispose]();
      await bed[Symbol.asyncDispose]();
    },
  };
}

/** Begins a call of `Say` and sends all of its message but a byte. Only a refusal answers it. */
function halfSay(session: ReturnType<typeof connect> | undefined, bytes: number, onAnswer: () => void): void {
  const headers = {
    ":method": "POST",
    ":path": "/desk.v1.FrontService/Say",
    "content-type": "application/connect+proto",
  };
  const stream = session?.request(headers);
  stream?.on("error", () => {}).once("response", onAnswer);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes + 1, 1);
  stream?.write(Buffer.concat([head, Buffer.alloc(bytes)]));
}

function connectTo(bed: DeskBed) {
  const socketPath = socketOf(bed);
  const connection = sidecarTransport({ baseUrl: "http://localhost", socketPath });
  return {
    client: createClient(FrontService, connection.transport),
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}

/** The peak memory of the front's process, KiB. */
function peakOf(bed: DeskBed): number {
  const peaks = bed.fronts().map((pid) => /VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return Math.max(...peaks.map(Number));
}

async function crosses(bed: DeskBed, text: string): Promise<void> {
  const { code, out } = await bed.run(["--mode", "admin", "--once", "--json"], text);
  expect(code).toBe(0);
  expect(parseJsonLines(out).find(({ type }) => type === "crossed")).toMatchObject({ outcome: "SUBMITTED" });
}

describe.concurrent("a crossing passes", () => {
  it("while thousands of users ask at once, and each gets an answer or a request to wait", {
    timeout: BUSY_MS,
  }, async ({ expect }) => {
    await using desk = await openDesk();
    const { bed } = desk;
    const before = peakOf(bed);
    using connections = new DisposableStack();
    const counts = { answered: 0, busy: 0, other: [] as unknown[] };
    const ask = async ({ client }: ReturnType<typeof connectTo>, i: number) => {
      try {
        let isAnswered = false;
        for await (const { type, text } of client.say({ thread: `t${i % 150}`, text: "read /docs/hours.md" }))
          isAnswered ||= type === EventType.ANSWER && text === "Opening hours: nine to six.";
        if (isAnswered) counts.answered++;
        else counts.other.push("no answer");
      } catch (err) {
        const known = domainErrorOf(err);
        if (known instanceof DomainError && known.kind === "exhausted") counts.busy++;
        else counts.other.push(err);
      }
    };
    const all = Array.from({ length: 10 }, () => connections.use(connectTo(bed)));
    const asked = Array.from({ length: 3000 }, (_, i) => ask(all[i % all.length] ?? connectTo(bed), i));
    await crosses(bed, "tell customers we close at five");
    await Promise.all(asked);
    expect(counts.other).toEqual([]);
    expect(counts.answered + counts.busy).toBe(3000);
    expect(counts.answered).toBeGreaterThan(0);
    expect(peakOf(bed) - before).toBeLessThan(ROOM_KIB);
  });

  it("while users send many requests and read no answer", { timeout: BUSY_MS }, async ({ expect }) => {
    await using desk = await openDesk({ "docs/long.md": "x".repeat(256 * 1024) });
    const { bed } = desk;
    const before = peakOf(bed);
    const stop = new AbortController();
    using connections = new DisposableStack();
    const request = async (thread: string) => {
      const { client } = connections.use(connectTo(bed));
      const stream = client.say({ thread, text: "read /docs/long.md" }, { signal: stop.signal });
      return await stream[Symbol.asyncIterator]().next().catch(domainErrorOf);
    };
    // A thread has places for nine, each held until its answer is read. The crowd comes first: an answer without room
    // is refused, and its place is free at once.
    const crowd = await Promise.all(Array.from({ length: 20 }, () => request("crowd")));
    const isBusy = (result: unknown) => result instanceof DomainError && result.fields["reason"] === "busy";
    expect(crowd.filter(isBusy)).toHaveLength(11);
    await Promise.all(Array.from({ length: 300 }, (_, i) => request(`t${i % 100}`)));
    await crosses(bed, "tell customers we close at five");
    expect(peakOf(bed) - before).toBeLessThan(ROOM_KIB);
    stop.abort();
  });

  it("while thousands of users send only half of their requests", { timeout: BUSY_MS }, async ({ expect }) => {
    await using desk = await openDesk();
    const { bed } = desk;
    const sessions = Array.from({ length: 8 }, () => {
      const session = connect("http://localhost", { createConnection: () => connectSocket(socketOf(bed)) });
      return session.on("error", () => {});
    });
    await Promise.all(sessions.map((session) => new Promise((resolve) => session.once("remoteSettings", resolve))));
    // All calls that one caller may have open, and all the bytes.
    let refused = 0;
    for (let i = 0; i < 3200; i++) halfSay(sessions[i % sessions.length], 16_000, () => refused++);
    await expect.poll(() => refused, { timeout: 120_000 }).toBeGreaterThan(0);
    await crosses(bed, `tell customers we close at five${" ".repeat(8000)}`);
    for (const session of sessions) session.destroy();
  });

  it("after a text of many megabytes, which is refused", { timeout: BUSY_MS }, async ({ expect }) => {
    await using desk = await openDesk();
    const { bed } = desk;
    const before = peakOf(bed);
    using connection = connectTo(bed);
    for (const bytes of [65_537, 1024 * 1024, 20 * 1024 * 1024]) {
      const call = async () => {
        for await (const _ of connection.client.say({ thread: "main", text: "x".repeat(bytes) }));
      };
      await expect(call()).rejects.toThrow();
    }
    await crosses(bed, "tell customers we close at five");
    expect(peakOf(bed) - before).toBeLessThan(ROOM_KIB);
    expect(bed.records("front").filter(({ type }) => type === "say")).toEqual([]);
  });
});
