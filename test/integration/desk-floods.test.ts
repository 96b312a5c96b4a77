import { readFileSync } from "node:fs";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { PublicEvent_Type as EventType, FrontService } from "../../internal/gen/desk/v1/desk_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { type DeskBed, deskBed, jsonLines } from "../support/desk/desk-bed.ts";

const BUSY_MS = 300_000;
/** The memory that the front may use for its callers, KiB; waiting answers are 64 MiB of it. */
const ROOM_KIB = 400 * 1024;

function connectTo(bed: DeskBed) {
  const socketPath = bed
    .read(".desk/front/address")
    .trim()
    .replace(/^unix:/, "");
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
  expect(jsonLines(out).find(({ type }) => type === "crossed")).toMatchObject({ outcome: "SUBMITTED" });
}

describe.concurrent("a crossing passes", () => {
  it("while thousands of users ask at once, of whom each gets an answer or is told to wait", {
    timeout: BUSY_MS,
  }, async ({ expect }) => {
    await using bed = deskBed();
    await bed.run(["--mode", "admin"], "exit\n");
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
    expect(counts.busy).toBeGreaterThan(0); // of 150 threads, 100 are taken
    expect(peakOf(bed) - before).toBeLessThan(ROOM_KIB);
  });

  it("while users ask for much and read nothing of it", { timeout: BUSY_MS }, async ({ expect }) => {
    await using bed = deskBed({ "docs/long.md": "x".repeat(256 * 1024) });
    await bed.run(["--mode", "admin"], "exit\n");
    const before = peakOf(bed);
    const stop = new AbortController();
    using connections = new DisposableStack();
    // Each stream's window is full before its answer is read; 64 MiB are 256 answers.
    const stalled = Array.from({ length: 320 }, async (_, i) => {
      const { client } = connections.use(connectTo(bed));
      const request = { thread: `t${i % 100}`, text: "read /docs/long.md" };
      const stream = client.say(request, { signal: stop.signal })[Symbol.asyncIterator]();
      await stream.next().catch(() => {});
    });
    await Promise.all(stalled);
    await crosses(bed, "tell customers we close at five");
    expect(peakOf(bed) - before).toBeLessThan(ROOM_KIB);
    stop.abort();
  });

  it("after a text of many megabytes, which is refused", { timeout: BUSY_MS }, async ({ expect }) => {
    await using bed = deskBed();
    await bed.run(["--mode", "admin"], "exit\n");
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
