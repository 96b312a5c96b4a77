import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { spawn as spawnPty } from "@lydell/node-pty";
import { describe, expect, it } from "vitest";
import { TmuxServer } from "../../internal/tmux/client/server.ts";
import { probeVersion } from "../../internal/tmux/client/version.ts";
import { eventually } from "../support/eventually.ts";
import { testDeps, tmuxSandbox } from "../support/screens/tmux-sandbox.ts";

const exec = promisify(execFile);

async function tempDir() {
  const path = await mkdtemp(join(tmpdir(), "gt-tmux-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** A program that writes its arguments, environment and folder to files, NUL-separated, and stays. */
const REPORTER =
  'cat /proc/self/environ > "$OUT/env.tmp"; pwd > "$OUT/cwd"; printf "%s\\0" "$@" > "$OUT/args"; mv "$OUT/env.tmp" "$OUT/env"; exec sleep 1000';

function serverFor(dir: string, options: Partial<ConstructorParameters<typeof TmuxServer>[1]> = {}) {
  const paths = { socketPath: join(dir, "tmux.sock"), configPath: join(dir, "tmux.conf") };
  return new TmuxServer(testDeps, { tmuxProgram: "tmux", env: process.env, ...paths, ...options });
}

function running(server: TmuxServer) {
  const stop = new AbortController();
  const done = server.run(stop.signal);
  const dispose = async () => {
    stop.abort();
    await done;
  };
  return { server, [Symbol.asyncDispose]: dispose };
}

describe("the agent in its pane", () => {
  it("is the pane's own process, without a shell and without tmux's variables", async () => {
    await using dir = await tempDir();
    const env = { OUT: dir.path, HIDDEN: "x" };
    await using box = await tmuxSandbox({ argv: ["sh", "-c", REPORTER, "sh"], env, unsetEnv: ["HIDDEN"] });
    const seen = await eventually("the report", () => readFile(join(dir.path, "env"), "utf8").catch(() => undefined));
    const names = seen.split("\0").map((entry) => entry.slice(0, entry.indexOf("=")));
    expect(names.filter((name) => name.startsWith("TMUX"))).toEqual([]);
    expect(names).toContain("OUT");
    expect(names).not.toContain("HIDDEN");
    expect(seen).toContain("TERM=tmux-256color");
    const { pid } = await box.pane.facts();
    const parent = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ")[1];
    expect(Number(parent)).toBe(box.server.pid);
    await eventually("sleep", async () => (await readFile(`/proc/${pid}/cmdline`, "utf8")) === "sleep\x001000\0");
  });

  it("gets arguments, variables and folder with any characters unchanged", async () => {
    await using dir = await tempDir();
    const nasty = [
      "",
      " ",
      "-x",
      "--",
      ";",
      "a;",
      "$HOME ~ `id` $(id)",
      "#{pane_id} #[bold] %d %if",
      "\"'\\",
      "a\nb\r\t\x1b[31m\x01\x7f",
      "漢字 👨‍👩‍👧 e\u0301",
      "{ x }",
    ];
    const cwd = join(dir.path, "we ird#[x#{pid}%d'\"$HOME");
    await mkdir(cwd);
    const env = { OUT: dir.path, NASTY: nasty.join("|") };
    await using _box = await tmuxSandbox({ argv: ["sh", "-c", REPORTER, "sh", ...nasty], env, cwd });
    const seen = await eventually("the report", () => readFile(join(dir.path, "env"), "utf8").catch(() => undefined));
    expect(seen.split("\0")).toContain(`NASTY=${nasty.join("|")}`);
    expect((await readFile(join(dir.path, "args"), "utf8")).split("\0")).toEqual([...nasty, ""]);
    expect(await readFile(join(dir.path, "cwd"), "utf8")).toBe(`${cwd}\n`);
  });

  it("may be a program with = in its name", async () => {
    await using dir = await tempDir();
    const program = join(dir.path, "a=b");
    await writeFile(program, "#!/bin/sh\nprintf 'ran %s' \"$1\"; exec sleep 1000\n");
    await chmod(program, 0o755);
    await using box = await tmuxSandbox({ argv: [program, "it"] });
    await eventually("output", async () =>
      (await box.pane.capture({ escapes: false, join: false })).startsWith("ran it"),
    );
  });

  it("that does not exist ends with 127", async () => {
    await using box = await tmuxSandbox({ argv: ["no-such-agent"] });
    const facts = await eventually("death", async () => {
      const now = await box.pane.facts();
      return now.dead && (await box.pane.recoverDeadStatus());
    });
    expect(facts.deadStatus).toBe(127);
  });

  it("has the configured history limit from its first line", async () => {
    await using box = await tmuxSandbox({
      argv: ["sh", "-c", "seq 500; exec sleep 1000"],
      historyLimit: 100,
      rows: 10,
    });
    await eventually("output", async () => (await box.pane.capture({ escapes: false, join: false })).includes("500"));
    const { historySize } = await box.pane.facts();
    expect(historySize).toBeGreaterThan(80);
    expect(historySize).toBeLessThanOrEqual(100);
  });
});

describe("the window", () => {
  it("keeps its size when a person with a smaller terminal attaches and detaches", async () => {
    await using box = await tmuxSandbox({ cols: 160, rows: 50 });
    const args = ["-N", "-u", "-S", box.socketPath, "attach-session", "-t", "=claude"];
    const person = spawnPty("tmux", args, { cols: 70, rows: 20, env: { ...process.env, TMUX: "" } });
    const gone = new Promise<void>((resolve) => person.onExit(() => resolve()));
    await eventually("attach", async () =>
      (await box.client.command("list-clients -F '#{client_width}'")).includes("70"),
    );
    expect(await box.pane.facts()).toMatchObject({ cols: 160, rows: 50 });
    person.kill();
    await gone;
    await eventually(
      "detach",
      async () => !(await box.client.command("list-clients -F '#{client_width}'")).includes("70"),
    );
    expect(await box.pane.facts()).toMatchObject({ cols: 160, rows: 50 });
  });

  it("B4: new windows and sessions beside it do not crash the server", async () => {
    await using box = await tmuxSandbox({ cols: 160, rows: 50 });
    await box.client.command("new-window -d");
    await box.client.command("new-session -d -s claude-2");
    await box.pane.resize(90, 30);
    expect(await box.pane.facts()).toMatchObject({ cols: 90, rows: 30 });
    expect(await box.client.command("show-options -g -w window-size")).toEqual(["window-size latest"]);
  });
});

describe("TmuxServer", () => {
  it("starts without any locale set", async () => {
    await using dir = await tempDir();
    const { PATH } = process.env;
    await writeFile(join(dir.path, "tmux.conf"), "new-session -d -s x\n");
    const server = serverFor(dir.path, { env: { PATH, LANG: "C", LC_ALL: "C" } });
    await using run = running(server);
    await eventually("socket", () => stat(join(dir.path, "tmux.sock")).catch(() => undefined));
    await run[Symbol.asyncDispose]();
    expect(server.exit).toEqual({ code: 0, signal: null });
  });

  it("does not take a running server's socket: the second one fails, and the first continues", async () => {
    await using box = await tmuxSandbox();
    const second = serverFor(box.dir).run(new AbortController().signal);
    await expect(second).rejects.toMatchObject({ kind: "already-exists" });
    expect((await box.pane.facts()).dead).toBe(false);
  });

  it.each(["SIGKILL", "SIGSEGV"] as const)(
    "reports an end by %s, and the next server takes over the stale socket",
    async (signal) => {
      await using box = await tmuxSandbox();
      process.kill(box.server.pid ?? 0, signal);
      await box.serverDone;
      expect(box.server.exit).toEqual({ code: null, signal });
      expect((await stat(box.socketPath)).isSocket()).toBe(true);
      await eventually("the end of the old client", () => !box.client.isAttached);
      await using _next = running(serverFor(box.dir));
      await eventually("attach", () => box.client.isAttached);
      expect((await box.pane.facts()).dead).toBe(false);
    },
  );

  it("does not touch a file that is not a socket", async () => {
    await using dir = await tempDir();
    await writeFile(join(dir.path, "tmux.sock"), "mine");
    const run = serverFor(dir.path).run(new AbortController().signal);
    await expect(run).rejects.toMatchObject({ kind: "already-exists", message: expect.stringContaining("in the way") });
    expect(await readFile(join(dir.path, "tmux.sock"), "utf8")).toBe("mine");
  });

  it("rejects a socket path that is too long, and a missing program", async () => {
    await using dir = await tempDir();
    const never = new AbortController().signal;
    const long = serverFor(dir.path, { socketPath: join(dir.path, "x".repeat(100)) }).run(never);
    await expect(long).rejects.toMatchObject({ kind: "invalid", message: expect.stringContaining("too long") });
    const missing = serverFor(dir.path, { tmuxProgram: "no-such-tmux" }).run(never);
    await expect(missing).rejects.toMatchObject({ kind: "precondition" });
  });

  it("kills a server that ignores kill-server and SIGTERM", async () => {
    await using dir = await tempDir();
    await writeFile(join(dir.path, "tmux.conf"), "new-session -d -s x\n");
    const server = serverFor(dir.path, { stopStepMs: 100 });
    await using run = running(server);
    await eventually("socket", () => stat(join(dir.path, "tmux.sock")).catch(() => undefined));
    process.kill(server.pid ?? 0, "SIGSTOP");
    await run[Symbol.asyncDispose]();
    expect(server.exit).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("ends its agent when it is stopped", async () => {
    const box = await tmuxSandbox({ argv: ["sleep", "1000"] });
    const { pid } = await box.pane.facts();
    await box[Symbol.asyncDispose]();
    await eventually("the agent's end", () =>
      exec("ps", ["-o", "stat=", "-p", String(pid)]).then(
        (out) => out.stdout.startsWith("Z"),
        () => true,
      ),
    );
  });
});

describe("probeVersion", () => {
  async function fakeTmux(dir: string, printed: string) {
    const program = join(dir, "tmux");
    await writeFile(program, `#!/bin/sh\necho '${printed}'\n`);
    await chmod(program, 0o755);
    return program;
  }

  it("accepts this machine's tmux", async () => {
    expect((await probeVersion("tmux", process.env)).major).toBeGreaterThanOrEqual(3);
  });

  it("rejects a tmux that is too old, with both versions in the message", async () => {
    await using dir = await tempDir();
    const program = await fakeTmux(dir.path, "tmux 3.1c");
    await expect(probeVersion(program, process.env)).rejects.toThrow("tmux 3.1c is too old: 3.2 or newer is needed");
  });

  it("says how to install a missing tmux", async () => {
    await expect(probeVersion("no-such-tmux", process.env)).rejects.toMatchObject({
      kind: "precondition",
      message: expect.stringContaining("apt-get install tmux"),
    });
  });
});
