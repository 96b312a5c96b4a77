import { execFile } from "node:child_process";
import { chmod, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { spawn as spawnPty } from "@lydell/node-pty";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { demoAgent, inSidecar, privatePlace } from "../support/agents/agent-places.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { eventually } from "../support/eventually.ts";
import { programFile } from "../support/programs.ts";

const run = promisify(execFile);
const uid = process.getuid?.() ?? 0;

/** A tmux server as a person starts it, without `-S`, with a demo agent in `gt-rig-toast`. */
async function personsServer(umask: string, name?: string) {
  const { dir, env } = await privatePlace();
  const label = name === undefined ? [] : ["-L", name];
  const tmux = (...args: string[]) =>
    run("sh", ["-c", `umask ${umask}; exec tmux "$@"`, "sh", ...label, ...args], { env });
  await tmux("new-session", "-d", "-s", "gt-rig-toast", "-x", "90", "-y", "24", ...demoAgent(dir, "--seed", "7"));
  const socket = join(dir, `tmux-${uid}`, name ?? "default");
  return {
    dir,
    env,
    socket,
    tmux,
    stop: async () => {
      await tmux("kill-server").catch(() => {});
      await rm(dir, { recursive: true, force: true });
    },
  };
}

describe.each([
  ["tmux new -d, umask 022", "022", undefined],
  ["tmux new -d, umask 002", "002", undefined],
  ["tmux new -d, umask 077", "077", undefined],
  ["tmux -L work new -d", "022", "work"],
])("gt finds the agent in a person's own tmux server (%s)", (_, umask, name) => {
  let server: Awaited<ReturnType<typeof personsServer>>;
  beforeAll(async () => {
    server = await personsServer(umask, name);
  });
  afterAll(() => server?.stop());

  const here = () => (name === undefined ? server.env : { ...server.env, GT_TMUX_SOCKET: name });
  const modeOf = async () => (await stat(server.socket)).mode & 0o777;

  it("while it is detached", async () => {
    expect(await modeOf()).toBe(0o660);
    const listed = await gt(["agents"], here());
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.stdout).toContain("gt-rig-toast");
    await eventually("it is shown", async () =>
      (await gt(["peek", "gt-rig-toast"], here())).stdout.includes("ready · demo"),
    );
    expect(await gt(["nudge", "gt-rig-toast", "hello"], here())).toMatchObject({ code: 0, stderr: "" });
    if (name !== undefined)
      expect(await gt(["peek", "gt-rig-toast", "1", "--socket", name], server.env)).toMatchObject({
        code: 0,
        stderr: "",
      });
  });

  it("from inside that server, and while a person is attached", async () => {
    const inside = { ...server.env, TMUX: `${server.socket},1,0` };
    expect(await gt(["peek", "gt-rig-toast", "1"], inside)).toMatchObject({ code: 0, stderr: "" });
    const label = name === undefined ? [] : ["-L", name];
    const person = spawnPty("tmux", [...label, "attach", "-t", "gt-rig-toast"], {
      env: { ...server.env, TERM: "xterm" },
    });
    const gone = new Promise<void>((resolve) => person.onExit(() => resolve()));
    try {
      await eventually("tmux says by its mode that someone is attached", async () => (await modeOf()) === 0o770);
      expect(await gt(["peek", "gt-rig-toast", "1"], here())).toMatchObject({ code: 0, stderr: "" });
    } finally {
      person.kill();
      await gone;
    }
  });
});

it("names the sessions that gt peek finds where gt agents finds no agent", async () => {
  const server = await personsServer("022");
  try {
    await server.tmux("rename-session", "-t", "gt-rig-toast", "work");
    const peeked = await gt(["peek", "work", "1"], server.env);
    expect(peeked).toMatchObject({ code: 0, stderr: "" });
    const named =
      "no agent is running here under a name of Gas Town's; other tmux sessions are reached by theirs: work";
    for (const command of ["agents", "status"]) {
      const { code, stdout, stderr } = await gt([command], server.env);
      expect([code, stdout]).toEqual([0, ""]);
      expect(stderr.replaceAll(/\s+/g, " ")).toContain(named);
    }
    const missing = await gt(["peek", "toast"], server.env);
    expect(missing.code).toBe(3);
    expect(missing.stderr).toContain(named);
  } finally {
    await server.stop();
  }
});

it("attaches from a terminal type that this host does not know, and refuses an argument that is not UTF-8", async () => {
  const server = await personsServer("022");
  try {
    const env = { ...server.env, TERM: "xterm-of-tomorrow" };
    const person = spawnPty(process.execPath, [programFile("gt"), "attach", "gt-rig-toast"], {
      env,
      cols: 90,
      rows: 24,
    });
    const gone = new Promise<void>((resolve) => person.onExit(() => resolve()));
    let seen = "";
    person.onData((data) => {
      seen += data;
    });
    await eventually("it is shown", () => seen.includes("gt: note: ") && seen.includes("ready · demo"));
    expect(seen).toContain('does not know the terminal "xterm-of-tomorrow"; using xterm');
    person.kill();
    await gone;
    const script = `"$0" "$1" nudge gt-rig-toast "$(printf 'caf\\351')"`;
    const nudged = run("sh", ["-c", script, process.execPath, programFile("gt")], { env: server.env });
    await expect(nudged).rejects.toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^gt: error: an argument is not UTF-8\n/),
    });
  } finally {
    await server.stop();
  }
});

it("skips an untrusted tmux server with a note, and still finds sidecars", async () => {
  await using sidecar = await inSidecar({ argv: (dir) => demoAgent(dir), profile: "demo" });
  const tmux = (...args: string[]) => run("tmux", args, { env: sidecar.env });
  await tmux("new-session", "-d", "-s", "gt-rig-other", "cat");
  const folder = join(sidecar.dir, `tmux-${uid}`);
  try {
    await chmod(folder, 0o701);
    const listed = await gt(["agents"], sidecar.env);
    expect(listed).toMatchObject({ code: 0 });
    expect(listed.stdout).toContain("toast");
    expect(listed.stdout).not.toContain("gt-rig-other");
    const note = /^gt: note: left out: cannot trust the tmux server at \S+: others may use \S+ \(mode 701\)\n$/;
    expect(listed.stderr).toMatch(note);
    const shown = await gt(["peek", "toast", "1"], sidecar.env);
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.stderr).toMatch(note);
    const missing = await gt(["peek", "gt-rig-other"], sidecar.env);
    expect(missing).toMatchObject({ code: 3, stdout: "" });
    expect(missing.stderr).toContain("gt: note: left out: cannot trust the tmux server");
    const asked = await gt(["peek", "gt-rig-other", "--socket", "default"], sidecar.env);
    expect(asked).toMatchObject({ code: 4, stdout: "" });
  } finally {
    await chmod(folder, 0o700);
    await tmux("kill-server");
  }
});

it("reaches a program that was started from /bin/sh, until only the shell is left", async () => {
  await using stack = new AsyncDisposableStack();
  const { dir, env } = await privatePlace();
  const asPerson = { ...env, SHELL: "/bin/sh" };
  const tmux = (...args: string[]) => run("tmux", args, { env: asPerson });
  stack.defer(async () => {
    await tmux("kill-server").catch(() => {});
    await rm(dir, { recursive: true, force: true });
  });
  await tmux("new-session", "-d", "-s", "gt-rig-toast", "-x", "90", "-y", "24", "cat; sh");
  const cat = async () => {
    const { stdout } = await tmux("display-message", "-p", "-t", "gt-rig-toast", "#{pane_pid}");
    return (await run("pgrep", ["-P", stdout.trim(), "-x", "cat"]).catch(() => ({ stdout: "" }))).stdout.trim();
  };
  await eventually("cat to run", async () => (await cat()) !== "", 30_000);
  const status = async () => JSON.parse((await gt(["status", "gt-rig-toast", "--json"], asPerson)).stdout);
  expect(await status()).toMatchObject({ alive: true });
  expect((await gt(["nudge", "gt-rig-toast", "hello there"], asPerson)).code).not.toBe(6);
  process.kill(Number(await cat()), "SIGTERM");
  await eventually("the shell to be left", async () => (await cat()) === "", 30_000);
  await eventually("gt to see no agent", async () => !(await status()).alive, 30_000);
  const refused = await gt(["nudge", "gt-rig-toast", "echo PWNED"], asPerson);
  expect(refused).toMatchObject({ code: 6, stdout: "" });
  expect((await tmux("capture-pane", "-p", "-t", "gt-rig-toast")).stdout).not.toContain("PWNED");
});
