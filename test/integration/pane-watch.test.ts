import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { GapReason } from "../../internal/gen/gastown/v1/common_pb.ts";
import {
  type SidecarOutputUpdate,
  type SidecarWatchRequestSchema,
  UpdateKind,
  WatchMode,
} from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../../internal/rpc/client/transport.ts";
import { calmTime } from "../support/calm-time.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

/**
 * Prints seeded random bytes in seeded pieces once `go` exists, writes the same bytes to a file, then prints END and
 * waits.
 */
const PRINTER = `
const fs = require("node:fs");
const [go, record, total, seed] = [process.argv[1], process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
let state = seed;
const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 8;
process.stdin.setRawMode?.(true);
const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
while (!fs.existsSync(go)) sleep(10);
const out = fs.openSync(record, "w");
for (let done = 0; done < total; ) {
  const length = Math.min(total - done, 1 + (random() % 6000));
  const piece = Buffer.from(Array.from({ length }, () => random() & 0xff));
  fs.writeSync(out, piece);
  for (let at = 0; at < length; ) {
    try { at += fs.writeSync(1, piece, at); } catch (err) { if (err.code !== "EAGAIN") throw err; sleep(1); }
  }
  done += length;
  if (random() % 4 === 0) sleep(1);
}
fs.writeSync(out, "END");
fs.writeSync(1, "END");
setTimeout(() => {}, 1e9);
`;

interface Printing {
  readonly sidecar: RunningSidecar;
  readonly go: () => Promise<void>;
  readonly recorded: () => Promise<Buffer>;
}

async function printing(total: number, seed: number, flags: readonly string[] = []): Promise<Printing> {
  let dir = "";
  const sidecar = await startSidecar((folder) => {
    dir = folder;
    // The terminal passes the output unchanged: neither line ends nor echo.
    const script = 'stty raw -echo; exec "$@"';
    const program = [
      process.execPath,
      "-e",
      PRINTER,
      join(dir, "go"),
      join(dir, "record"),
      String(total),
      String(seed),
    ];
    return { agent: "generic", command: ["sh", "-c", script, "sh", ...program], flags };
  });
  return {
    sidecar,
    go: () => writeFile(join(dir, "go"), ""),
    recorded: () => readFile(join(dir, "record")),
  };
}

/** Joins the bytes of a RAW stream; throws if an offset does not follow the previous one. */
class Assembled {
  readonly parts: Buffer[] = [];
  readonly gaps: GapReason[] = [];
  next: bigint | undefined;

  add(update: SidecarOutputUpdate): void {
    if (update.kind === UpdateKind.SNAPSHOT) {
      if (update.gap !== undefined) this.gaps.push(update.gap.reason);
      this.next = update.offset;
      return;
    }
    if (update.offset !== this.next) throw new Error(`offset ${update.offset} where ${this.next} was due`);
    this.parts.push(Buffer.from(update.data));
    this.next = update.offset + BigInt(update.data.length);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.parts);
  }

  get hasEnd(): boolean {
    return this.parts.slice(-3).join("").endsWith("END");
  }
}

describe("a raw watch", () => {
  it.each([1, 2])("delivers every byte of a random stream in order (seed %i)", async (seed) => {
    const { sidecar, go, recorded } = await printing(1_500_000, seed);
    await using _ = sidecar;
    const assembled = new Assembled();
    const updates = watched(sidecar, { mode: WatchMode.RAW, intervalMs: 10 });
    for await (const update of updates) {
      if (assembled.next === undefined) await go();
      assembled.add(update);
      if (assembled.hasEnd) break;
    }
    expect(assembled.gaps).toEqual([]);
    expect(assembled.bytes.equals(await recorded())).toBe(true);
  });

  it("continues where a watcher left off, and refuses a future offset", async () => {
    const { sidecar, go, recorded } = await printing(400_000, 3);
    await using _ = sidecar;
    const first = new Assembled();
    let epoch = "";
    for await (const update of watched(sidecar, { mode: WatchMode.RAW })) {
      if (first.next === undefined) await go();
      first.add(update);
      epoch = update.epoch;
      if (first.bytes.length > 100_000) break;
    }
    const resume = { mode: WatchMode.RAW, epoch, afterOffset: first.next ?? 0n };
    for await (const update of watched(sidecar, resume)) {
      expect(update.kind).not.toBe(UpdateKind.SNAPSHOT);
      first.add(update);
      if (first.hasEnd) break;
    }
    expect(first.bytes.equals(await recorded())).toBe(true);
    const future = watched(sidecar, { ...resume, afterOffset: (first.next ?? 0n) + 1_000_000n });
    await expect(Array.fromAsync(future)).rejects.toMatchObject({ message: expect.stringContaining("cannot resume") });
  });

  it("reports to a slow reader what it missed, and sends it the current screen", async () => {
    const { sidecar, go } = await printing(24_000_000, 4, ["--raw-bytes", "65536"]);
    await using _ = sidecar;
    const assembled = new Assembled();
    let snapshots = 0;
    for await (const update of watched(sidecar, { mode: WatchMode.RAW, intervalMs: 10 })) {
      if (update.kind === UpdateKind.SNAPSHOT && ++snapshots === 1) {
        await go();
        await until("the ring to turn over", 50_000, async () => {
          const { offset } = await sidecar.client.peek({ lines: 1 });
          return offset > update.offset + 20_000_000n || undefined;
        });
      }
      assembled.add(update);
      if (snapshots > 1) {
        expect(update.data.length).toBeGreaterThan(0);
        break;
      }
    }
    expect(assembled.gaps).toEqual([GapReason.SLOW_READER]);
  });
});

describe("a screen watch", () => {
  it("sends the screen at once, then its changes, and its end with a reason", async () => {
    const script = "echo first; read x; echo second; exit 0";
    const flags = ["--restart", "never", "--linger", "5s"];
    await using sidecar = await startSidecar({ agent: "generic", command: ["sh", "-c", script], flags });
    await until("the first line", 30_000, async () => (await sidecar.client.peek({})).output === "first" || undefined);
    const seen: SidecarOutputUpdate[] = [];
    const passed = calmTime();
    for await (const update of watched(sidecar, { lines: 5 })) {
      if (seen.length === 0) {
        expect(passed()).toBeLessThan(2000);
        await sidecar.client.sendKeys({ text: "x" });
        await sidecar.client.sendKeys({ keys: ["Enter"] });
      }
      seen.push(update);
    }
    expect(seen[0]).toMatchObject({ kind: UpdateKind.SNAPSHOT, output: "first", sessionAlive: true });
    expect(seen.at(-2)).toMatchObject({ kind: UpdateKind.CHANGE, output: expect.stringContaining("second") });
    expect(seen.at(-1)).toMatchObject({ kind: UpdateKind.END, endReason: "the agent has ended", sessionAlive: false });
    expect(seen.slice(1, -1).every((update) => update.kind === UpdateKind.CHANGE)).toBe(true);
  });

  it("frees its stream on the server when the watcher leaves", async () => {
    await using sidecar = await startSidecar({ agent: "generic", command: ["sh", "-c", "echo hi; sleep 1000"] });
    for (const mode of [WatchMode.SCREEN, WatchMode.RAW]) {
      for await (const update of watched(sidecar, { mode })) {
        expect(update.kind).toBe(UpdateKind.SNAPSHOT);
        await until("the stream to be counted", 30_000, async () => (await activeStreams(sidecar)) === 1 || undefined);
        break;
      }
      await until("the stream to be freed", 30_000, async () => (await activeStreams(sidecar)) === 0 || undefined);
    }
  });
});

/** A stream that is aborted when its loop is left. */
function watched(sidecar: RunningSidecar, request: MessageInitShape<typeof SidecarWatchRequestSchema>) {
  return abortOnExit((signal) => sidecar.client.watchOutput(request, { signal }));
}

async function activeStreams(sidecar: RunningSidecar): Promise<number> {
  const text = await (await fetch(`${sidecar.healthUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => /^gastown_rpc_active_streams[ {]/.test(line));
  expect(lines.length).toBeGreaterThan(0);
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
