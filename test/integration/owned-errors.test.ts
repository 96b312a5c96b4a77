import { ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { type AddressInfo, createServer, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { WebSocketServer } from "ws";
import { CrlServer } from "../../internal/auth/tls/crl-server.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { CallerPresence } from "../../internal/desk/launch/presence.ts";
import { MarkedProcesses } from "../../internal/process/children/marked-processes.ts";
import { OrphanGuard } from "../../internal/process/children/orphan-guard.ts";
import { startSidecarProcess } from "../../internal/providers/terminal/sidecar-process.ts";
import { DialledAgent } from "../../internal/relay/door/dialled-agent.ts";
import { carryEditor } from "../../internal/relay/front/carried-editor.ts";
import { listen } from "../../internal/rpc/port/listen.ts";
import { eventually } from "../support/eventually.ts";
import { silentLogger } from "../support/silent-logger.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-errors-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

it.each([
  [
    "the server of revocation lists",
    () => new CrlServer({ host: "127.0.0.1", port: 0, path: "/crl", lists: () => "" }),
  ],
  ["the desk's presence", () => new CallerPresence(systemClock, { path: join(dir, "presence"), lingerMs: 60_000 })],
])("%s continues after connections that could not be accepted", async (_what, make) => {
  const made: Server[] = [];
  const listen = Server.prototype.listen;
  const spy = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
    made.push(this);
    return Reflect.apply(listen, this, args) as Server;
  });
  const stop = new AbortController();
  const running = make().run(stop.signal);
  try {
    await eventually("it listens", () => made[0]?.listening === true, 30_000);
    await new Promise((resolve) => setImmediate(resolve)); // its own listeners have run
    // Node reports a failed accept(2) in this way, for example when memory is short.
    for (let times = 0; times < 3; times++) made[0]?.emit("error", new Error("accept ENOBUFS"));
    expect(made[0]?.listening).toBe(true);
  } finally {
    spy.mockRestore();
    stop.abort(new Error("test ends"));
    await running;
  }
});

it("a sidecar that may not be signalled does not count as ended", async () => {
  const command = { program: "/bin/sleep", args: ["600"], cwd: dir, env: {}, log: join(dir, "log") };
  const sidecar = await startSidecarProcess(command);
  let ended = false;
  void sidecar.ended.then(() => {
    ended = true;
  });
  // Node reports a refused kill(2) in this way: the process is another user's, and we lack CAP_KILL.
  const spy = vi.spyOn(ChildProcess.prototype, "kill").mockImplementation(function (this: ChildProcess) {
    this.emit("error", Object.assign(new Error("kill EPERM"), { code: "EPERM" }));
    return false;
  });
  for (let times = 0; times < 3; times++) sidecar.signal("SIGTERM");
  spy.mockRestore();
  await new Promise((resolve) => setImmediate(resolve));
  expect(ended).toBe(false);
  sidecar.signal("SIGKILL");
  expect(await sidecar.ended).toEqual({ signal: "SIGKILL" });
});

it("a process without a free descriptor fails to start programs, and continues", async () => {
  const main = fileURLToPath(new URL("../fakes/no-descriptors-main.ts", import.meta.url));
  const line = 'ulimit -n 128; exec "$0" "$@"';
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", line, process.execPath, main], { timeout: 60_000 });
  expect(stdout).toBe("full: EMFILE\nguard: goes on\ntmux: TmuxUnavailableError\n");
});

it("a server on a unix socket continues after it could not accept its first connection", async () => {
  const server = createServer();
  const listening = listen(server, { host: "", port: 0, path: join(dir, "early") });
  await once(server, "listening");
  server.emit("error", new Error("accept EMFILE"));
  await listening;
  server.emit("error", new Error("accept EMFILE"));
  server.close();
});

/** A WebSocket server in place of a relay. */
async function relayStandIn(onConnection: (request: IncomingMessage) => void) {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: ([first]) => first ?? false });
  server.on("connection", (socket, request) => {
    socket.on("error", () => {});
    onConnection(request);
  });
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

it("an agent's dialler reconnects when the relay sends something other than a frame", async () => {
  let connections = 0;
  using relay = await relayStandIn(({ socket }) => {
    connections++;
    socket.write(Buffer.of(0x8f, 0)); // an opcode that does not exist
  });
  const channels = { clock: systemClock, guard: new OrphanGuard(), marked: new MarkedProcesses(systemClock) };
  const deps = { ...channels, logger: silentLogger, onStderr: () => {} };
  const agent = new DialledAgent(deps, { url: relay.url, argv: ["/bin/cat"], cwd: dir, env: {} });
  const stop = new AbortController();
  let failed = false;
  const running = agent.run(stop.signal);
  running.catch(() => {
    failed = true;
  });
  await eventually("it has dialled twice", () => connections > 1 || failed, 60_000);
  stop.abort();
  await running;
});

it("an editor whose input breaks counts as gone", async () => {
  using relay = await relayStandIn(() => input.destroy(new Error("read ECONNRESET")));
  const input = new PassThrough();
  const editor = { url: relay.url, headers: {}, tls: undefined };
  await carryEditor(editor, { input, output: new PassThrough() }, new AbortController().signal);
});
