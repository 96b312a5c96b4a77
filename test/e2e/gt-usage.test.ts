import { execFileSync, spawnSync } from "node:child_process";
import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gt as program } from "../../cmd/gt/commands.ts";
import { privatePlace } from "../support/agents/agent-places.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { programFile } from "../support/programs.ts";

let place: Awaited<ReturnType<typeof privatePlace>>;
beforeAll(async () => {
  place = await privatePlace();
});
afterAll(() => rm(place.dir, { recursive: true }));

describe("gt without an agent", () => {
  it("prints its usage", async () => {
    const shown = await gt([], place.env);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/^gt looks at coding agents and talks to them, near or far\.\n\nUsage:\n {2}gt peek/);
    expect(await gt(["--help"], place.env)).toEqual(shown);
  });

  it.each([...Object.keys(program.commands ?? {}), "completion", "help"])(
    "explains %s, with an example",
    async (command) => {
      const shown = await gt([command, "--help"], place.env);
      expect(shown).toMatchObject({ code: 0, stderr: "" });
      expect(shown.stdout).toMatch(new RegExp(`^Usage:\\s+gt ${command}`, "m"));
      expect(shown.stdout).toMatch(/Examples?:\n {2}\S/);
    },
  );

  it("prints its version", async () => {
    expect(await gt(["--version"], place.env)).toEqual({ code: 0, stdout: "gt 0.1.0\n", stderr: "" });
  });

  it("completes its commands, flags and their values in bash", async () => {
    const { stdout } = await gt(["completion", "bash"], place.env);
    const complete = (line: string) => {
      const words = line.split(" ");
      const script = `${stdout}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})\nCOMP_CWORD=${words.length - 1}\n_gt\necho "\${COMPREPLY[*]}"`;
      return execFileSync("bash", ["-c", script], { env: place.env, encoding: "utf8" }).trim();
    };
    expect(complete("gt p")).toBe("peek");
    expect(complete("gt peek toast --fo")).toBe("--follow");
    expect(complete("gt nudge toast --mode ")).toBe("wait-idle immediate queue");
    expect(complete("gt completion z")).toBe("zsh");
  });

  it.each<[string[], string]>([
    [["conquer", "toast"], 'gt: error: unknown command "conquer"\ngt: hint: gt help lists the commands\n'],
    [
      ["attach", "toast"],
      "gt: error: gt attach needs a terminal\ngt: hint: gt watch and gt peek show an agent without a terminal, gt nudge sends it a message\n",
    ],
    [["peak", "toast"], 'gt: error: unknown command "peak"\ngt: hint: did you mean gt peek?\n'],
    [["peek"], "gt: error: which agent?\ngt: hint: gt peek --help shows its usage\n"],
    [["peek", "toast", "0"], 'gt: error: not a number of lines: "0" (1 to 100000)\n'],
    [["peek", "toast", "--line", "5"], "gt: error: unknown flag --line\ngt: hint: did you mean --lines?\n"],
    [
      ["peek", "a/b/c"],
      'gt: error: not an agent\'s address: "a/b/c" (write rig/name, rig/polecats/name, rig/crew/name, rig/witness, rig/refinery, mayor, deacon, boot or a name)\n',
    ],
    [["nudge", "toast"], "gt: error: no message\ngt: hint: give it as an argument, with -m, or pipe it with --stdin\n"],
    [["nudge", "toast", ""], "gt: error: the message is empty\n"],
    [
      ["nudge", "toast", "--stdin", "-m", "x"],
      "gt: error: give --message or --stdin, not both\ngt: hint: gt nudge --help shows its usage\n",
    ],
    [
      ["completion", "tcsh"],
      'gt: error: no completion for "tcsh"\ngt: hint: completion exists for bash, zsh and fish\n',
    ],
    [
      ["status", "toast", "--server", "http://x:9445"],
      'gt: error: --server takes HOST:PORT, not "http://x:9445"\ngt: hint: a control plane is reached only over TLS: omit the scheme\n',
    ],
    [
      ["status", "--follow"],
      "gt: error: --follow needs a control plane (--server, GT_SERVER); gt watch follows one agent\ngt: hint: gt status --help shows its usage\n",
    ],
  ])("exits with 2 for %j", async (args, stderr) => {
    expect(await gt(args, place.env)).toEqual({ code: 2, stdout: "", stderr });
  });

  it("exits with 3 when there is no such agent, and lists the running ones", async () => {
    expect(await gt(["peek", "toast"], place.env)).toEqual({
      code: 3,
      stdout: "",
      stderr:
        'gt: error: no agent "toast"; no agent is running here\ngt: hint: --host and --port reach a sidecar elsewhere, --socket another tmux server\n',
    });
  });

  it.each<[string[], RegExp]>([
    [
      ["peek", "toast", "--port", "1"],
      /^gt: error: 127\.0\.0\.1:1: cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1\ngt: hint: is gt-sidecar running there\? gt agents lists those on this machine\n$/,
    ],
    [["nudge", "toast", "hello", "--port", "1"], /^gt: error: 127\.0\.0\.1:1: cannot be reached/],
    [["watch", "toast", "--port", "1"], /^gt: error: 127\.0\.0\.1:1: cannot be reached/],
    [
      ["status", "toast", "--host", "no-such-host.invalid"],
      /^gt: error: no-such-host\.invalid:9090: cannot be reached/,
    ],
    [["peek", "toast", "--socket", "nothing"], /^gt: error: no tmux server answers at .*\/nothing\n/],
  ])("exits with 4 when %j cannot be reached", async (args, stderr) => {
    const shown = await gt(args, place.env);
    expect(shown).toMatchObject({ code: 4, stdout: "" });
    expect(shown.stderr).toMatch(stderr);
  });

  it("lists nothing where nothing runs", async () => {
    expect(await gt(["agents", "--json"], place.env)).toEqual({ code: 0, stdout: "[]\n", stderr: "" });
    expect(await gt(["status", "--json"], place.env)).toEqual({ code: 0, stdout: "[]\n", stderr: "" });
    expect(await gt(["agents", "-q"], place.env)).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});

describe("gt whose output cannot be written", () => {
  const shell = (line: string) => {
    const script = line.replaceAll("GT", `${process.execPath} ${programFile("gt")}`);
    const run = spawnSync("bash", ["-c", script], { env: place.env, encoding: "utf8" });
    return { code: run.status, stderr: run.stderr };
  };

  it("exits with 1 and the reason when the disk is full", () => {
    expect(shell("GT --help > /dev/full")).toEqual({
      code: 1,
      stderr: "gt: error: cannot write to stdout: ENOSPC: no space left on device, write\n",
    });
  });

  it("exits with 141 without a message when the reader has gone", () => {
    expect(shell("set -o pipefail; GT --help | true")).toEqual({ code: 141, stderr: "" });
  });
});

it.each<[string, string]>([
  ["a b", "as in toast.example, 10.0.3.7, ::1 or unix:/run/agent.sock"],
  ["http://toast", "omit the scheme"],
  ["toast:9090", "give the port with --port"],
])("rejects the host %j with a hint", async (host, hint) => {
  expect(await gt(["status", "--host", host], place.env)).toEqual({
    code: 2,
    stdout: "",
    stderr: `gt: error: --host takes a host name or an address, not ${JSON.stringify(host)}\ngt: hint: ${hint}\n`,
  });
});

it.each([
  [["agents", "--host", "x"], "unknown flag --host"],
  [["status", "--host", ""], "--host is empty"],
  [["nudge", "toast", "x", "--stdin"], "give a message argument or --stdin, not both"],
  [
    ["peek", "toast", "--socket", "s", "--ca", "f"],
    "--ca is for a sidecar, --socket for local tmux: give only one of them",
  ],
  [
    ["peek", "toast", "--port", "1", "--agent-profile", "demo"],
    "--agent-profile is for local tmux: a sidecar knows its agent",
  ],
])("rejects a flag or value that does not apply: %j", async (args, message) => {
  const shown = await gt(args, place.env);
  expect(shown).toMatchObject({ code: 2, stdout: "" });
  expect(shown.stderr.split("\n")[0]).toBe(`gt: error: ${message}`);
});

it("refuses a tmux server in a folder that others may use", async () => {
  const open = join(place.dir, "open");
  await mkdir(open);
  await chmod(open, 0o777);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(open, "s"), resolve));
  const shown = await gt(["peek", "toast", "--socket", join(open, "s")], place.env);
  server.close();
  expect(shown).toMatchObject({ code: 4, stdout: "" });
  expect(shown.stderr).toMatch(/^gt: error: cannot trust the tmux server at \S+: others may use \S+ \(mode 777\)\n/);
});
