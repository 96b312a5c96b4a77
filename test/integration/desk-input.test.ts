import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, symlinkSync } from "node:fs";
import { describe, it } from "vitest";
import { type DeskBed, deskBed, parseJsonLines } from "../support/desk/desk-bed.ts";

const BUSY_MS = 300_000;
const MAX_BYTES = 65_536;
const routed = (bytes: number) => "tell customers ".padEnd(bytes, "x");

describe.concurrent("an unusable input", () => {
  /** A line of `--jsonl`, and the event that answers it. */
  const lines: readonly (readonly [
    line: string | Buffer,
    event: { readonly type: string; readonly reason?: RegExp },
  ])[] = [
    ["not json", { type: "error", reason: /the line is not an input/ }],
    ["[]", { type: "error", reason: /the line is not an input/ }],
    ['{"text": 1}', { type: "error", reason: /the line is not an input/ }],
    ['{"text": "x", "route": "customer"}', { type: "error", reason: /the line is not an input/ }],
    [Buffer.from('{"text": "caf\xe9"}', "latin1"), { type: "error", reason: /not UTF-8/ }],
    [JSON.stringify({ text: "x".repeat(7 * MAX_BYTES) }), { type: "error", reason: /too long/ }],
    ['{"text": ""}', { type: "refused", reason: /empty/ }],
    ['{"text": "tell customers \\ud800"}', { type: "refused", reason: /not well formed/ }],
    [JSON.stringify({ text: routed(MAX_BYTES + 1) }), { type: "refused", reason: /more than 65536 bytes/ }],
    [JSON.stringify({ text: "tell customers", thread: "../main" }), { type: "refused", reason: /thread's name/ }],
    [JSON.stringify({ text: "tell customers", to: "" }), { type: "refused", reason: /thread's name/ }],
    [JSON.stringify({ text: "tell customers", to: "x".repeat(65) }), { type: "refused", reason: /thread's name/ }],
    [JSON.stringify({ text: routed(MAX_BYTES), to: "x".repeat(64) }), { type: "crossed" }],
    ['{"text": "read /admin/prices.md"}', { type: "answer" }],
  ];

  it("yields one event, is not recorded, and does not affect the next line", { timeout: BUSY_MS }, async ({
    expect,
  }) => {
    await using bed = deskBed();
    const input = Buffer.concat(lines.flatMap(([line]) => [Buffer.from(line), Buffer.from("\n")]));
    const { code, out, err } = await bed.run(["--mode", "admin", "--jsonl"], input);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const shown = ["error", "refused", "crossed"];
    const events = parseJsonLines(out).filter(
      ({ type, from }) => shown.includes(String(type)) || from === "supervisor",
    );
    expect(events.map(({ type }) => type)).toEqual(lines.map(([, { type }]) => type));
    for (const [i, [, { reason }]] of lines.entries()) if (reason) expect(events[i]?.["reason"]).toMatch(reason);
    expect(bed.records("back").filter(({ type }) => type === "turn")).toHaveLength(2);
    const crossed = bed.records("front").filter(({ type }) => type === "crossing");
    expect(crossed).toMatchObject([{ admin_input: routed(MAX_BYTES), thread: "x".repeat(64) }]);
  });

  it("on the user's side is refused without quoting it", { timeout: BUSY_MS }, async ({ expect }) => {
    await using bed = deskBed();
    const own = lines.filter(([line]) => !line.includes('"to"') && !line.includes("/admin"));
    const input = Buffer.concat(own.flatMap(([line]) => [Buffer.from(line), Buffer.from("\n")]));
    const { code, out, err } = await bed.run(["--mode", "user", "--jsonl"], input);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const reasons = parseJsonLines(out).flatMap(({ type, reason }) => (type === "error" ? [String(reason)] : []));
    expect(reasons).toHaveLength(own.length);
    for (const reason of reasons)
      expect(reason).toMatch(/^(the line is not an input.*|the text is (not UTF-8|too long)|refused)$/);
    expect(bed.records("front")).toEqual([]);
  });
});

describe.concurrent("an input without a valid text", () => {
  it("ends with a refused turn and exit code 6 in each mode", { timeout: BUSY_MS }, async ({ expect }) => {
    await using bed = deskBed();
    const refused = { type: "turn_end", turn: expect.any(String), outcome: "refused" };
    const first = {
      admin: { type: "refused", reason: expect.any(String) },
      user: { type: "error", reason: "refused" },
    };
    for (const mode of ["admin", "user"] as const) {
      for (const input of ["", Buffer.from([0xff]), "x".repeat(3 * MAX_BYTES)]) {
        const { code, out } = await bed.run(["--mode", mode, "--once", "--json"], input);
        expect([code, ...parseJsonLines(out)]).toEqual([6, first[mode], refused]);
      }
    }
    expect([...bed.records("back"), ...bed.records("front")]).toEqual([]);
  });
});

describe.concurrent("an unusable path", () => {
  it("is not allowed, and the turn continues", { timeout: BUSY_MS }, async ({ expect }) => {
    await using bed = deskBed({ "docs/deep/in/file.md": "deep\n", "docs-private/plan.md": "secret\n" });
    symlinkSync("../admin/prices.md", bed.path("docs/link.md"));
    symlinkSync("../../admin", bed.path("docs/deep/admin"));
    symlinkSync("hours.md", bed.path("docs/within.md"));
    linkSync(bed.path("admin/prices.md"), bed.path("docs/hard.md"));
    mkdirSync(bed.path("docs/folder.md"));
    expect(spawnSync("mkfifo", [bed.path("docs/fifo.md")]).status).toBe(0);
    const refused = [
      ...["/admin/prices.md", "/docs/../admin/prices.md", "/docs/deep/../../admin/prices.md", "/docs/./hours.md"],
      ...["/docs//hours.md", "//docs/hours.md", "/docs/hours.md/", "/docs-private/plan.md", "/docs", "/docs/"],
      ...["/DOCS/hours.md", "/docs\\..\\admin\\prices.md", "/etc/passwd", "/proc/self/environ"],
      ...["/docs/link.md", "/docs/deep/admin/prices.md", "/docs/within.md", "/docs/hard.md"],
      ...["/docs/folder.md", "/docs/fifo.md", `/docs/${"x".repeat(256)}.md`, "/docs/\u2025/admin"],
    ];
    const missing = ["/docs/%2e%2e/admin/prices.md", "/docs/hours.md%00", "/docs/Hours.md", "/docs/hours.md\u0301"];
    const paths = [...refused, ...missing, "/docs/deep/in/file.md"];
    const events = await bed.events(
      "user",
      paths.map((path) => ({ text: `read ${path}` })),
    );
    const answers = events.flatMap(({ type, text }) => (type === "answer" ? [text] : []));
    expect(answers.slice(0, refused.length)).toEqual(refused.map((path) => expect.stringMatching(refusalOf(path))));
    expect(answers.slice(refused.length, -1)).toEqual(missing.map((path) => `cannot read ${path}: not found`));
    expect(answers.at(-1)).toBe("deep");
    expect(events.filter(({ type, outcome }) => type === "turn_end" && outcome === "done")).toHaveLength(paths.length);
    expect(JSON.stringify(events)).not.toMatch(/wholesale|secret|root:/);
  });
});

/** For a missing file the reason is "not found"; the existence of any other file is not revealed. */
const refusalOf = (path: string) => (path.includes("\u2025") ? /not found$/ : /: not allowed$/);

describe.concurrent("an unusable command line", () => {
  it.for([
    { args: [], err: /--mode/ },
    { args: ["--mode", "boss"], err: /admin.*user/ },
    { args: ["--mode", "user", "read /docs/hours.md"], err: /read \/docs\/hours.md/ },
    { args: ["--mode", "user", "--once", "--jsonl"], err: /--once.*--jsonl|--jsonl.*--once/ },
    { args: ["--mode", "user", "--isolatoin", "none"], err: /--isolation/ },
    { args: ["--mode", "user", "--thread", "../x"], err: /thread/ },
    { args: ["--mode", "user", "--config", "other.yaml"], err: /other.yaml/ },
    { args: ["chekc"], err: /check/ },
  ])("exits with 2 and a hint: $args", { timeout: BUSY_MS }, async ({ args, err: expected }, { expect }) => {
    await using bed = deskBed();
    const { code, out, err } = await bed.run(args, "read /admin/prices.md\n");
    expect({ code, out, err }).toEqual({ code: 2, out: "", err: expect.stringMatching(expected) });
  });
});

describe.concurrent("roots that overlap", () => {
  it.for([
    { name: "one in the other", config: "customer: { root: . }", prepare: () => {} },
    { name: "the same folder by a link", config: "customer: { root: ./public }", prepare: linked("admin", "public") },
    { name: "the state folder", config: "customer: { root: ./.desk }", prepare: folder(".desk") },
  ])("end a start with 4: $name", { timeout: BUSY_MS }, async ({ config, prepare }, { expect }) => {
    await using bed = deskBed({ "desk.yaml": `version: 1\nsupervisor: { root: ./admin }\n${config}\n` });
    prepare(bed);
    for (const mode of ["admin", "user"]) {
      const { code, out, err } = await bed.run(["--mode", mode, "--once"], "read /docs/prices.md");
      expect({ code, out, err }).toEqual({ code: 4, out: "", err: expect.stringContaining("overlap") });
    }
    expect(bed.fronts()).toEqual([]);
  });
});

function linked(target: string, name: string) {
  return (bed: DeskBed) => symlinkSync(target, bed.path(name));
}

function folder(name: string) {
  return (bed: DeskBed) => void mkdirSync(bed.path(name), { mode: 0o700 });
}
