// Projects whose agents run as users of their own (run_as), with real users of this machine.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { chmod, chown, link, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { TerminalFolder } from "../../internal/providers/terminal/terminal-folder.ts";
import { BridgeFolder, type Consumer, type RunningBridge, type Sections } from "../support/bridge/bridge-folder.ts";
import { canMakeUsers, requireUsers, TestUsers } from "../support/bridge/unix-users.ts";
import { until } from "../support/sidecar/sidecar.ts";

/** A hostile agent of project B, with a full shell, which records what it can reach of A and of the bridge. */
const HOSTILE = String.raw`#!/bin/sh
[ "$1" = --version ] && { id -u > /dev/null; echo 1.0; exit 0; }
{
  echo "id: $(id)"
  echo "env: $(env | cut -d= -f1 | sort | tr '\n' ' ')"
  echo "fds: $(ls /proc/self/fd | tr '\n' ' ')"
  for file in KEY CONFIG RECORDS; do cat "$file" > /dev/null 2>&1 && echo "reads $file"; done
  for file in $(find STATE PLACES A_HOME -mindepth 1 2>/dev/null); do
    [ "$(stat -c %u "$file")" = "$(id -u)" ] || { [ -r "$file" ] && [ ! -d "$file" ] && echo "reads $file"; }
  done
  for pid in BRIDGE_PID $(ps -u A_NAME -o pid=); do
    cat /proc/$pid/environ > /dev/null 2>&1 && echo "reads the environment of $pid"
    ls /proc/$pid/fd > /dev/null 2>&1 && echo "sees the descriptors of $pid"
    kill -0 $pid 2> /dev/null && echo "may signal $pid"
  done
  for socket in A_PLACE/rpc.sock A_PLACE/s/tmux.sock; do
    python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' $socket 2> /dev/null && echo "connects to $socket"
  done
  tmux -S A_PLACE/s/tmux.sock list-sessions > /dev/null 2>&1 && echo "drives the tmux server of A"
  echo done
} > "$HOME/report.new" 2>&1
mv "$HOME/report.new" "$HOME/report"
exec cat
`;

describe("projects with run_as", () => {
  beforeEach(requireUsers);

  let folder: BridgeFolder;
  let users: TestUsers;
  let sections: Sections;
  let bridge: RunningBridge;

  beforeAll(async () => {
    if (!canMakeUsers()) return;
    users = await TestUsers.make(["a", "b"]);
    folder = await BridgeFolder.create();
    for (const name of ["one", "closed"]) await mkdir(join(users.dir, name), { mode: 0o700 });
    await chmod(join(users.dir, "one"), 0o755);
    const [a, b] = users.all;
    sections = {
      server: { projects_dir: join(users.dir, "run") },
      projects: { [folder.prd.name]: { run_as: a?.name }, [folder.ndara.name]: { run_as: b?.name } },
      providers: { claude: { binary: join(users.dir, "hostile") } },
      allowed_paths: [join(users.dir, "*")],
      audit: { path: "audit.log" },
    };
    await writeFile(join(users.dir, "hostile"), HOSTILE, { mode: 0o755 });
    bridge = await folder.start(sections, { ANTHROPIC_API_KEY: "of-the-bridge", SECRET: "of-the-bridge" });
  });
  afterAll(async () => {
    await folder?.[Symbol.asyncDispose]();
    await users?.[Symbol.asyncDispose]();
  });

  const userOf = (index: 0 | 1) => users.all[index] as TestUsers["all"][number];
  const start = (
    by: Consumer,
    sessionId: string,
    agentOpts: Record<string, string>,
    provider = "demo",
    repo = "one",
  ) => {
    const repoPath = join(users.dir, repo);
    return folder.client(bridge, by).startSession({ projectId: by.name, sessionId, provider, repoPath, agentOpts });
  };
  const running = (by: Consumer, sessionId: string) =>
    until(
      `${sessionId} to run`,
      60_000,
      async () => {
        const { status } = await folder.client(bridge, by).getSession({ sessionId });
        return status === SessionStatus.RUNNING || undefined;
      },
      bridge.log,
    );
  const none = (index: 0 | 1) =>
    until("the end of all its processes", 60_000, async () =>
      (await TestUsers.processesOf(userOf(index))).length === 0 ? true : undefined,
    );
  const record = async (project: string) => {
    const names = spawnSync("ls", [folder.path("state/t")], { encoding: "utf8" })
      .stdout.trim()
      .split("\n");
    const all = await Promise.all(names.map((name) => readFile(folder.path("state/t", name, "session.json"), "utf8")));
    const index = all.findIndex((text) => text.includes(`"project":"${project}"`));
    return { name: names[index] ?? "", pid: (JSON.parse(all[index] ?? "{}") as { pid: number }).pid };
  };
  const placeOf = (name: string) =>
    spawnSync("find", [join(users.dir, "run"), "-name", name], { encoding: "utf8" }).stdout.trim();

  it("run their agents as these users, over stdio and in terminals, with their HOME and without the bridge's environment", async () => {
    await start(folder.prd, "stdio", {});
    await start(folder.prd, "terminal", { mode: "terminal" });
    await running(folder.prd, "stdio");
    await running(folder.prd, "terminal");
    const processes = await TestUsers.processesOf(userOf(0));
    expect(processes.length).toBeGreaterThanOrEqual(4); // an agent, a sidecar, its tmux server, its agent
    for (const { environ } of processes) {
      expect(environ).not.toContain("of-the-bridge");
      if (environ !== "") expect(environ.split("\0")).toContain(`HOME=${userOf(0).home}`);
    }
    const sent = await folder.client(bridge, folder.prd).sendInput({ sessionId: "terminal", text: "hello there" });
    expect(sent.accepted).toBe(true);
  });

  it("keep a hostile agent from the other project's files, sockets and processes, and from the key", async () => {
    const { name } = await record(folder.prd.name);
    const place = placeOf(name);
    expect(statSync(place)).toMatchObject({ uid: userOf(0).uid, mode: 0o40700 });
    const filled = HOSTILE.replaceAll("A_HOME", userOf(0).home)
      .replaceAll("A_NAME", userOf(0).name)
      .replaceAll("A_PLACE", place)
      .replaceAll("BRIDGE_PID", String(bridge.process.pid))
      .replaceAll("PLACES", join(users.dir, "run"))
      .replaceAll("STATE", folder.path("state"))
      .replaceAll("KEY", folder.path("certs/bridge.key"))
      .replaceAll("CONFIG", folder.path("bridge.yaml"))
      .replaceAll("RECORDS", folder.path("state/t", name, "session.json"));
    await writeFile(join(users.dir, "hostile"), filled, { mode: 0o755 });
    await start(folder.ndara, "hostile", { mode: "terminal" }, "claude");
    const report = join(userOf(1).home, "report");
    await until("the report", 60_000, () => existsSync(report) || undefined, bridge.log);
    const lines = (await readFile(report, "utf8")).split("\n");
    expect(lines[0]).toContain(`uid=${userOf(1).uid}`);
    expect(lines[0]).toContain(`groups=${userOf(1).gid}`);
    expect(lines[1]).not.toMatch(/ANTHROPIC|SECRET/);
    expect(lines.slice(3)).toEqual(["done", ""]);
    await folder.client(bridge, folder.ndara).stopSession({ sessionId: "hostile" });
    await none(1);
  });

  it("connect to no symlink or hard link to another project's socket in place of the sidecar's", async () => {
    const places = join(users.dir, "places");
    await mkdir(places, { mode: 0o755 });
    const folderOf = (index: 0 | 1) => {
      const apart = { places, user: { ...userOf(index), shell: "/bin/sh" } };
      const found = TerminalFolder.of(join(folder.dir, "t"), { project: String(index), sessionId: "s" }, apart);
      found.makePlace();
      return found;
    };
    const [own, other] = [folderOf(1), folderOf(0)];
    const server = createServer((socket) => socket.end()).listen(other.socket);
    await once(server, "listening");
    const dialled = (from: TerminalFolder) =>
      new Promise((resolve) => {
        const socket = from.dial().once("connect", () => resolve("connected"));
        socket.once("error", (err: NodeJS.ErrnoException) => resolve(err.code)).once("close", () => socket.destroy());
      });
    await symlink(other.socket, own.socket);
    expect(await dialled(own)).toBe("ENOENT");
    await rm(own.socket);
    await link(other.socket, own.socket);
    expect(await dialled(own)).toBe("ENOENT");
    await chown(own.socket, userOf(1).uid, userOf(1).gid);
    expect(await dialled(own)).toBe("connected");
    server.close();
    for (const each of [own, other]) each.remove();
    expect(await readdir(places)).toEqual([]);
  });

  it("pass on none of the bridge's inherited descriptors", () => {
    const code = `
      import { spawnSync } from "node:child_process";
import { once } from "node:events";
      import { closeInherited } from ${JSON.stringify(join(import.meta.dirname, "../../internal/process/users/inherited-descriptors.ts"))};
      if (process.argv[1] === "close") closeInherited();
      console.log(spawnSync("readlink", ["/proc/self/fd/200"], { encoding: "utf8" }).stdout.trim());`;
    const seen = (word: string) =>
      spawnSync(
        "bash",
        ["-c", 'exec 200</etc/passwd; exec "$0" --input-type=module -e "$1" "$2"', process.execPath, code, word],
        {
          encoding: "utf8",
        },
      ).stdout.trim();
    expect([seen("keep"), seen("close")]).toEqual(["/etc/passwd", ""]);
  });

  it("refuse a folder that the user may not enter, and projects without run_as", async () => {
    const closed = start(folder.prd, "closed", {}, "demo", "closed");
    await closed.catch(() => {});
    const { error } = await folder.client(bridge, folder.prd).getSession({ sessionId: "closed" });
    expect(error).toContain(`the user ${userOf(0).name}, as whom this project's agents run, may not enter`);
    const other = folder.client(bridge, folder.prd, { token: { project: "third" } });
    const asked = { projectId: "third", sessionId: "x", provider: "demo", repoPath: join(users.dir, "one") };
    await expect(other.startSession(asked)).rejects.toThrow('the project "third" has no run_as');
  });

  it("let the next bridge take over the terminals of a killed one, and stop them", async () => {
    const before = await record(folder.prd.name);
    bridge.process.kill("SIGKILL");
    await bridge.exited;
    bridge = await folder.start(sections);
    await running(folder.prd, "terminal");
    expect((await record(folder.prd.name)).pid).toBe(before.pid);
    const sent = await folder.client(bridge, folder.prd).sendInput({ sessionId: "terminal", text: "still there" });
    expect(sent.accepted).toBe(true);
    process.kill(before.pid, "SIGKILL"); // the sidecar alone: another one takes its place, as the same user
    await until("another sidecar", 60_000, async () =>
      (await record(folder.prd.name)).pid !== before.pid ? true : undefined,
    );
    await running(folder.prd, "terminal");
    await folder.client(bridge, folder.prd).stopSession({ sessionId: "terminal" });
    await none(0);
    // The bridge is not the parent of this sidecar, and notices its end a moment later.
    await until("the removal of its folder", 60_000, () => placeOf(before.name) === "" || undefined, bridge.log);
  });

  it("are refused by check if a user does not exist, is root, or can read the key", async () => {
    const ran = async (projects: object) => {
      const config = await folder.configure({ ...sections, projects }, "checked.yaml");
      const check = folder.spawn(["check", "--config", config]);
      return [await check.exited, check.log()];
    };
    expect(await ran({ p: { run_as: "no-such-user" } })).toEqual([2, expect.stringContaining("there is no user")]);
    expect(await ran({ p: { run_as: "root" } })).toEqual([2, expect.stringContaining("must not be root")]);
    await chmod(folder.path("certs/bridge.key"), 0o644);
    const readable = await ran({ p: { run_as: userOf(0).name } });
    await chmod(folder.path("certs/bridge.key"), 0o600);
    expect(readable).toEqual([2, expect.stringContaining(`can be read by ${userOf(0).name}`)]);
  });
});

describe("providers.NAME.allow", () => {
  it("refuses a start with any other option by name, and is itself refused with unknown names", async () => {
    await using folder = await BridgeFolder.create();
    await using bridge = await folder.start({ providers: { demo: { allow: ["raw"] } } });
    const start = (sessionId: string, agentOpts: Record<string, string>) =>
      folder.client(bridge, folder.prd).startSession({
        ...{ projectId: folder.prd.name, sessionId, provider: "demo", repoPath: folder.path("repos/one"), agentOpts },
      });
    const refused = (option: string) =>
      expect.objectContaining({
        code: Code.PermissionDenied,
        rawMessage: expect.stringContaining(`option "${option}"`),
      });
    await expect(start("p", { permission_mode: "allow" })).rejects.toEqual(refused("permission_mode"));
    await expect(start("m", { raw: "true", mode: "terminal" })).rejects.toEqual(refused("mode"));
    expect((await start("r", { raw: "true" })).sessionId).toBe("r");
    const config = await folder.configure({ providers: { demo: { allow: ["permision_mode"] } } }, "wrong.yaml");
    const check = folder.spawn(["check", "--config", config]);
    expect([await check.exited, check.log()]).toEqual([2, expect.stringContaining("demo has no such option")]);
  });
});

describe("without run_as", () => {
  it("check and the start's log warn that all projects' agents run as one user", async () => {
    await using folder = await BridgeFolder.create();
    await using bridge = await folder.start();
    const check = folder.spawn(["check", "--config", folder.path("bridge.yaml")]);
    expect(await check.exited).toBe(0);
    for (const text of [check.log(), bridge.log()])
      expect(text).toContain("all projects' agents run as the bridge's user");
  });
});
