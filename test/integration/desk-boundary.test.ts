import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { leakyBubblewrap } from "../support/desk/bubblewrap.ts";
import { type DeskBed, deskBed } from "../support/desk/desk-bed.ts";
import { isSandboxUsable } from "../support/desk/sandbox-usable.ts";

const BUSY_MS = 300_000;
const CONFIG = `version: 1
supervisor: { root: ./admin, credentials: ./admin.env }
intent:
  rules: [{ match: '^tell customers', route: customer }]
customer: { root: ./docs, isolation: sandbox }
`;

/** Things that the front must not reach, with their paths in a desk of the tests. */
const TARGETS = {
  "the administrator's state": ".desk/back",
  "the bridge's key": ".desk/back/bridge.key",
  "the administrator's journal": ".desk/back/journal.jsonl",
  "the administrator's HOME": ".desk/back/home",
  "the administrator's root": "admin",
  "the administrator's credentials": "admin.env",
  "the configuration": "desk.yaml",
} as const;
const names = Object.keys(TARGETS);
const isUsable = isSandboxUsable("the desk's boundary");

describe.runIf(isUsable)("a start ends with exit code 4 and names the hole in its boundary", () => {
  let bed: DeskBed;

  beforeAll(async () => {
    bed = deskBed({ "desk.yaml": CONFIG, "admin.env": "KEY=k\n" });
    expect(await bed.run(["--mode", "admin"], "tell customers to wait\n")).toMatchObject({ code: 0 });
    await bed.endFronts();
  }, BUSY_MS);
  afterAll(() => bed?.[Symbol.asyncDispose]());

  /** Starts `mode` in a sandbox with a hole; returns the ways that the error names. */
  async function waysOpen(mode: "admin" | "user", hole: Parameters<typeof leakyBubblewrap>[1]) {
    const journals = () => [bed.records("back"), bed.records("front")];
    const before = journals();
    const PATH = leakyBubblewrap(bed, hole);
    const { code, out, err } = await bed.run(["--mode", mode, "--once"], "tell customers of /admin/prices.md", {
      PATH,
    });
    expect({ code, out }).toEqual({ code: 4, out: "" });
    expect(bed.fronts()).toEqual([]);
    expect(journals()).toEqual(before);
    return /the customer's side reaches (.*)/.exec(err)?.[1]?.split(", ");
  }

  it(
    "when a path of the administrator's side is in the sandbox",
    async () => {
      const more = Object.values(TARGETS).flatMap((path) => ["--ro-bind", bed.path(path), bed.path(path)]);
      const ways = await waysOpen("admin", { more });
      const open = names.flatMap((name) => [`${name} by path`, `${name} by /proc/self/root`]);
      expect(ways?.filter((way) => !way.endsWith("/proc/PID/root")).sort()).toEqual(open.sort());
    },
    BUSY_MS,
  );

  it(
    "when the sandbox inherits a descriptor or a variable",
    async () => {
      const hole = { before: `exec 9<${bed.path("admin/prices.md")}`, more: ["--setenv", "ADMIN_KEY", "x"] };
      expect(await waysOpen("user", hole)).toEqual([
        "an inherited descriptor (9)",
        "a variable beyond the list (ADMIN_KEY)",
      ]);
    },
    BUSY_MS,
  );

  // Only root can give a sandbox access to the root folders of other processes.
  it.runIf(process.getuid?.() === 0)(
    "when the sandbox sees this machine's processes and may inspect them",
    async () => {
      const ways = await waysOpen("admin", { without: "--unshare-pid", more: ["--cap-add", "ALL"] });
      expect(ways).toEqual([
        ...names.map((name) => `${name} by /proc/PID/root`),
        ...["cwd", "fd", "environ", "mem"].map((part) => `another process by /proc/PID/${part}`),
      ]);
    },
    BUSY_MS,
  );
});
