import { spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { text } from "node:stream/consumers";
import { describe, it } from "vitest";
import { DESK, type DeskBed, deskBed, PLAIN_ENVIRONMENT, parseJsonLines } from "../support/desk/desk-bed.ts";

const BUSY_MS = 300_000;
const BLOCK = 512;

/** Runs the command with a limit of `bytes` for each file, in place of a full volume. */
async function runFull(bed: DeskBed, bytes: number, args: readonly string[], input: string) {
  const script = `ulimit -f ${Math.floor(bytes / BLOCK)}; exec "$@"`;
  const child = spawn("sh", ["-c", script, "sh", DESK, ...args], { cwd: bed.folder, env: PLAIN_ENVIRONMENT });
  child.stdin.on("error", () => {}).end(input);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, out, err };
}

const sizeOf = (bed: DeskBed, half: string) => statSync(bed.path(`.desk/${half}/journal.jsonl`)).size;
/** Longer than anything else that the desk writes. */
const LONG = `tell customers ${"x".repeat(60_000)}`;

describe.concurrent("a journal that cannot be written", () => {
  it("by the back ends the desk with 4; nothing is read, and nothing crosses", { timeout: BUSY_MS }, async ({
    expect,
  }) => {
    await using bed = deskBed();
    expect((await bed.run(["--mode", "admin", "--once"], LONG)).code).toBe(0);
    const crossed = bed.records("front");
    const full = sizeOf(bed, "back");
    for (const input of ["read /admin/prices.md", "tell customers we are closed"]) {
      const { code, out, err } = await runFull(bed, full, ["--mode", "admin"], `${input}\n`);
      expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining("cannot write the journal") });
      expect(out).not.toMatch(/wholesale|crossed/);
    }
    expect(bed.records("front")).toEqual(crossed);
    // With free space, it works as before.
    expect((await bed.run(["--mode", "admin", "--once"], "read /admin/prices.md")).out).toContain("wholesale 4.20");
  });

  it("by the front fails the turn with 4; nothing is read, and nothing crosses", { timeout: BUSY_MS }, async ({
    expect,
  }) => {
    await using bed = deskBed();
    expect((await bed.run(["--mode", "admin", "--once"], LONG)).code).toBe(0);
    await bed.endFronts();
    const crossed = bed.records("front");
    const asked = await runFull(bed, sizeOf(bed, "front"), ["--mode", "user", "--once"], "read /docs/hours.md");
    expect(asked).toMatchObject({ code: 4, out: "failed: internal error\n" });
    // The same front still runs, and still cannot write.
    const told = await bed.run(["--mode", "admin", "--once"], "tell customers we are closed");
    expect(told.code).toBe(4);
    expect(told.out).not.toContain("crossed");
    expect(bed.records("front")).toEqual(crossed);
    expect((await bed.run(["transcript", "--json"])).out).toContain('"outcome":"REFUSED"');
  });
});

describe.concurrent("a front that is frozen while a text crosses", () => {
  it("leaves the crossing's outcome unknown, as every record says", { timeout: BUSY_MS }, async ({ expect }) => {
    await using bed = deskBed({ "desk.yaml": "version: 1\nsupervisor: {}\ncustomer: {}\nlimits: { turn: 3s }\n" });
    await bed.run(["--mode", "admin"], "exit\n");
    for (const pid of bed.fronts()) process.kill(pid, "SIGSTOP");
    const [admin, user] = await Promise.all([
      bed.run(["--mode", "admin", "--once", "--json"], "tell customers we close at five"),
      bed.run(["--mode", "user", "--once"], "when do you close?"),
    ]);
    expect(user).toMatchObject({ code: 4, out: "failed: interrupted\n" });
    expect([admin.code, ...parseJsonLines(admin.out)]).toMatchObject([
      ...[7, { type: "decision", route: "customer" }, { type: "crossed", outcome: "UNKNOWN" }],
      { type: "turn_end", outcome: "unknown" },
    ]);
    const [turn] = parseJsonLines((await bed.run(["transcript", "--json"])).out);
    expect(turn).toMatchObject({ outcome: "unknown", crossing: { outcome: "UNKNOWN" } });
    expect(turn?.["withheld"]).not.toContainEqual(expect.objectContaining({ channel: "admin_input" }));
    expect(bed.records("back").map(({ type }) => type)).toEqual(["turn", "decision", "intended", "receipt", "end"]);
  });
});

describe.concurrent("after a kill or a change by an operator", () => {
  it("a partial last line is cut off and counted", { timeout: BUSY_MS }, async ({ expect }) => {
    await using bed = deskBed();
    await bed.run(["--mode", "admin", "--once"], "tell customers we close at five");
    await bed.endFronts();
    for (const half of ["back", "front"])
      appendFileSync(bed.path(`.desk/${half}/journal.jsonl`), '01234567 {"type":"say"');
    const told = await bed.run(["--mode", "admin", "--once"], "tell customers we open at nine");
    expect(told.code).toBe(0);
    expect(told.err).toContain("lines of the journal that are damaged or torn, and left out: 1");
    expect(readFileSync(bed.path(".desk/front/log.jsonl"), "utf8")).toContain(
      "lines of the journal are damaged or torn",
    );
    const texts = bed.records("front").flatMap(({ admin_input }) => admin_input ?? []);
    expect(texts).toEqual(["tell customers we close at five", "tell customers we open at nine"]);
  });

  it("the opened root stays in use after its path was replaced, and check reports it", { timeout: BUSY_MS }, async ({
    expect,
  }) => {
    await using bed = deskBed();
    const ask = () => bed.run(["--mode", "user", "--once"], "read /docs/hours.md");
    expect((await ask()).out).toContain("nine to six");
    expect((await bed.run(["check"])).code).toBe(0);
    renameSync(bed.path("docs"), bed.path("kept"));
    bed.write("docs/hours.md", "Never open.\n");
    expect((await ask()).out).toContain("nine to six");
    const check = await bed.run(["check"]);
    expect(check.code).toBe(4);
    expect(check.out).toContain(`REPLACED: the customer's root ${bed.path("docs")}`);
    rmSync(bed.path("kept/hours.md"));
    expect((await ask()).out).toBe("cannot read /docs/hours.md: not found\n");
  });

  it("a state folder that is open to others or cannot be created ends a start with 4", { timeout: BUSY_MS }, async ({
    expect,
  }) => {
    await using bed = deskBed();
    mkdirSync(bed.path("open"));
    chmodSync(bed.path("open"), 0o777);
    const startIn = (folder: string) => bed.run(["--mode", "user", "--once", "--state-dir", folder], "hello");
    expect(await startIn("open")).toMatchObject({ code: 4, err: expect.stringContaining("others may use it") });
    const hint = expect.stringContaining("choose another state folder with --state-dir");
    expect(await startIn("docs/hours.md/state")).toMatchObject({ code: 4, err: hint });
  });

  it("a configuration that became invalid leaves the previous one in force", { timeout: BUSY_MS }, async ({
    expect,
  }) => {
    await using bed = deskBed({
      "desk.yaml": "version: 1\ncustomer: { root: ./docs }\nsupervisor: { root: ./admin }\n",
    });
    const child = spawn(DESK, ["--mode", "admin"], { cwd: bed.folder, env: PLAIN_ENVIRONMENT });
    const [out, err] = [text(child.stdout), text(child.stderr)];
    child.stdin.write("read /admin/prices.md\n");
    await new Promise((resolve) => child.stdout.once("data", resolve));
    writeFileSync(bed.path("desk.yaml"), "version: 1\ncustomer: { rot: ./docs }\n");
    child.stdin.end("read /admin/prices.md\n");
    expect((await out).match(/wholesale 4.20/g)).toHaveLength(2);
    expect(await err).toContain("desk.yaml:2");
  });
});
