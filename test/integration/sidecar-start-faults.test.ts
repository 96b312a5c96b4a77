import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { journalLine } from "../../internal/eventlog/journal-lines.ts";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { hashOf } from "../../internal/session/nudge-record.ts";
import { programFile } from "../support/programs.ts";
import { runToEnd } from "../support/run-to-end.ts";
import { startSidecar, until } from "../support/sidecar/sidecar.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-test-"));
});
afterEach(() => rm(dir, { recursive: true, maxRetries: 5 }));

describe("a first start that cannot succeed ends with one line and its exit code", () => {
  async function run(...flags: readonly string[]) {
    const args = ["--agent", "generic", "--state-dir", join(dir, "state")];
    const all = [programFile("gt-sidecar"), ...args, ...flags, "--", "sleep", "1000"];
    const { code, stderr } = await runToEnd(process.execPath, all);
    return { code, lines: stderr.split("\n").filter((line) => line !== "") };
  }

  it.each([
    ["for RPC", "--listen", "--health-listen"],
    ["for health", "--health-listen", "--listen"],
  ])("a port in use %s: 1", async (_, taken, free) => {
    await using server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { readonly port: number };
    const { code, lines } = await run(taken, `127.0.0.1:${port}`, free, "127.0.0.1:0");
    expect([code, lines]).toEqual([1, [expect.stringContaining(`cannot listen on 127.0.0.1:${port}`)]]);
  });

  it("a missing working folder: 2", async () => {
    const ports = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
    const { code, lines } = await run(...ports, "--workdir", join(dir, "none"));
    expect([code, lines]).toEqual([2, [expect.stringContaining("there is no such folder")]]);
  });
});

it("a missing token file for threads is named in the log, and the agent starts", async () => {
  const token = join(dir, "none.token");
  await using sidecar = await startSidecar({ flags: ["--threads", "http://127.0.0.1:1", "--threads-token", token] });
  const lines = sidecar
    .log()
    .split("\n")
    .filter((line) => line.includes("no threads tools"));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ file: token, reason: "there is no such file" }),
  ]);
  expect((await sidecar.client.status({})).sessionAlive).toBe(true);
});

it("a umask that denies the owner every use of a file does not matter", async () => {
  const before = process.umask(0o022);
  const deny = async () => void process.umask(0o777);
  await using sidecar = await startSidecar({ prepare: deny }).finally(() => process.umask(before));
  await sidecar.untilState(AgentState.IDLE);
  expect(sidecar.log()).not.toContain("permissions"); // root may use any file, and restores them
});

function accepted(requestId: string, text: string) {
  const how = { mode: "queue", priority: "normal", sender: "s", acceptedAt: 1, expiresAt: 8e15 } as const;
  return { type: "accepted", nudge: { requestId, messageHash: hashOf(text), message: text, text, ...how } };
}

function ended(requestId: string) {
  const nothing = { error: "", queuePosition: 0, evidence: [], timings: {} };
  return { type: "ended", at: Date.now(), receipt: { requestId, outcome: "submitted", sender: "s", ...nothing } };
}

describe("a damaged or huge journal never ends the agent:", () => {
  const journal = () => join(dir, "state", "journal.jsonl");
  beforeEach(() => mkdir(join(dir, "state"), { mode: 0o700 }));

  it("a record with an invalid id is skipped, reported and set aside, and the others are delivered", async () => {
    const odd = { ...accepted("x", "odd"), nudge: { ...accepted("x", "odd").nudge, requestId: "a b;kill-server" } };
    await writeFile(journal(), [odd, accepted("good", "delivered")].map((one) => `${JSON.stringify(one)}\n`).join(""));
    await using sidecar = await startSidecar({ flags: ["--restart", "never"] }, dir);
    await until("the message", 30_000, async () => (await sidecar.taken()).includes("delivered") || undefined);
    expect(await sidecar.taken()).toEqual(["delivered"]);
    expect(sidecar.log()).toContain('"records":1');
    expect(await readFile(`${journal()}.damaged`, "utf8")).toContain("kill-server");
    expect((await sidecar.client.status({})).restarts).toBe(0);
  });

  it("120 MiB of valid records are read in bounded memory, and the latest receipts are kept", async () => {
    const file = openSync(journal(), "a", 0o600);
    const filling = "x".repeat(60_000);
    for (let i = 0, bytes = 0; bytes < 120 * 1024 * 1024; i++) {
      const lines = [accepted(`n${i}`, filling), ended(`n${i}`)].map(journalLine);
      for (const line of lines) bytes += writeSync(file, line);
    }
    writeSync(file, journalLine(accepted("last", "last text")));
    writeSync(file, journalLine(ended("last")));
    closeSync(file);
    await using sidecar = await startSidecar({}, dir);
    await sidecar.untilState(AgentState.IDLE);
    for (const requestId of ["n0", "n500", "last"]) {
      expect((await sidecar.client.getNudge({ requestId })).outcome, requestId).toBe(NudgeOutcome.SUBMITTED);
    }
    expect(sidecar.log()).not.toContain("restarting it");
    expect(await sidecar.taken()).toEqual([]);
  });
});
