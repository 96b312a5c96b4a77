import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode, SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { programFile } from "../support/programs.ts";
import { runToEnd } from "../support/run-to-end.ts";
import { demoCommand, type RunningSidecar, startSidecar } from "../support/sidecar/sidecar.ts";

const run = promisify(execFile);
const proto = fileURLToPath(new URL("../../proto/", import.meta.url));
const PEEK = "gastown.v1.SidecarService/Peek";

const dir = mkdtempSync(join(tmpdir(), "gt-unix-"));
const folder = join(dir, "private");
const socketPath = join(folder, "agent.sock");
mkdirSync(folder, { mode: 0o700 });
afterAll(() => rm(dir, { recursive: true }));

/** A socket file whose listener was killed. */
async function leaveStaleSocket(path: string): Promise<void> {
  const listen = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  await run(process.execPath, ["-e", listen]).catch(() => {});
  expect(statSync(path).isSocket()).toBe(true);
}

function clientOf(sender?: string, protocol: "connect" | "grpc" = "connect") {
  const naming: Interceptor = (next) => (req) => {
    if (sender !== undefined) req.header.set("gastown-sender", sender);
    return next(req);
  };
  const { transport } = sidecarTransport({ baseUrl: "http://localhost", socketPath, protocol, interceptors: [naming] });
  return createClient(SidecarService, transport);
}

describe("a sidecar on a unix socket", () => {
  let sidecar: RunningSidecar;
  beforeAll(async () => {
    await leaveStaleSocket(socketPath);
    sidecar = await startSidecar({ flags: ["--listen", `unix:${socketPath}`] });
    const isIdle = async () => expect((await clientOf().status({})).state).toBe(AgentState.IDLE);
    await vi.waitFor(isIdle, { timeout: 60_000 });
  }, 60_000);
  afterAll(() => sidecar[Symbol.asyncDispose]());

  it("replaces a stale socket file with one that only its user can open", () => {
    expect(statSync(socketPath).mode & 0o777).toBe(0o600);
  });

  it("answers gRPC as well", async () => {
    expect((await clientOf(undefined, "grpc").peek({ lines: 5 })).sessionAlive).toBe(true);
  });

  it("answers curl for any host name", async (context) => {
    const curl = await requireComponent(context, "curl");
    for (const host of ["localhost", "agent", "sidecar.example"]) {
      const ask = ["-s", "--unix-socket", socketPath, "-H", "content-type: application/json", "-d", "{}"];
      const { stdout } = await run(curl, [...ask, `http://${host}/${PEEK}`]);
      expect(JSON.parse(stdout)).toMatchObject({ sessionAlive: true });
    }
  });

  it("answers curl in gRPC-Web", async (context) => {
    const curl = await requireComponent(context, "curl");
    const frame = join(dir, "frame");
    writeFileSync(frame, Buffer.alloc(5));
    const ask = [
      "-s",
      "-i",
      "--unix-socket",
      socketPath,
      "-H",
      "content-type: application/grpc-web",
      "--data-binary",
      `@${frame}`,
    ];
    const { stdout } = await run(curl, [...ask, `http://localhost/${PEEK}`]);
    expect(stdout).toContain("grpc-status: 0");
  });

  it("answers grpcurl", async (context) => {
    const grpcurl = await requireComponent(context, "grpcurl");
    const files = ["-import-path", proto, "-proto", "gastown/v1/sidecar.proto"];
    const { stdout } = await run(grpcurl, ["-plaintext", "-unix", ...files, "-d", "{}", socketPath, PEEK]);
    expect(JSON.parse(stdout)).toMatchObject({ sessionAlive: true });
  });

  it("accepts the sender that its callers name", async () => {
    const ann = clientOf("ann");
    await ann.nudge({ message: "hello", requestId: "of-ann", mode: NudgeMode.QUEUE, sender: "mallory" });
    expect((await ann.getNudge({ requestId: "of-ann" })).requestId).toBe("of-ann");
    await expect.poll(() => sidecar.log(), { timeout: 60_000 }).toContain('"sender":"ann via unix"');
    const unprintable = clientOf("x".repeat(300)).status({});
    expect(await unprintable.catch(domainErrorOf)).toMatchObject({ kind: "invalid" });
  });

  it("is reached by gt with its address or its path", async () => {
    const env = { PATH: process.env["PATH"], HOME: dir, XDG_RUNTIME_DIR: sidecar.runtimeDir, USER: "ann" };
    const gt = (...args: string[]) => run(process.execPath, [programFile("gt"), ...args], { env });
    expect((await gt("agents")).stdout).toContain(`unix:${socketPath}`);
    expect((await gt("status", "test/polecats/demo")).stdout).toMatch(/idle|busy/i);
    expect((await gt("peek", "demo", "--host", `unix:${socketPath}`, "-n", "3")).stdout).not.toBe("");
    await gt("nudge", "test/polecats/demo", "hi", "--timeout", "20s");
    await expect.poll(() => sidecar.log(), { timeout: 60_000 }).toContain("ann@");
  });

  it("makes a second sidecar on its socket end with 1, and continues", async () => {
    await expect(startSidecar({ flags: ["--listen", `unix:${socketPath}`] })).rejects.toThrow(
      /ended with 1\n[\s\S]*another process is listening there/,
    );
    expect((await clientOf().peek({})).sessionAlive).toBe(true);
  });

  it("removes its socket when it ends", async () => {
    sidecar.signal("SIGTERM");
    await sidecar.exited;
    expect(existsSync(socketPath)).toBe(false);
  });
});

describe("a unix socket is refused with 2 before anything is started for", () => {
  const open = join(dir, "open");
  mkdirSync(open);
  chmodSync(open, 0o755);
  const link = join(dir, "link");
  symlinkSync(folder, link);

  async function start(...flags: string[]) {
    const args = ["--agent", "demo", "--state-dir", join(dir, "state"), "--workdir", dir, ...flags];
    const argv = [programFile("gt-sidecar"), ...args, "--health-listen", "127.0.0.1:0", "--", ...demoCommand(dir)];
    const env = { PATH: process.env["PATH"], HOME: dir };
    return await runToEnd(process.execPath, argv, { env, timeoutMs: 120_000 });
  }

  it.each([
    ["a folder that others may enter", join(open, "a.sock"), "its mode is 755"],
    ["a link to a folder", join(link, "a.sock"), "it is a link"],
    ["a missing folder", join(dir, "none", "a.sock"), "it does not exist"],
    ["a path that is too long", join(folder, "a".repeat(120)), "at most 107 bytes"],
    ["no path", "", "takes the path of a socket"],
  ])("%s", async (_what, path, why) => {
    expect(await start("--listen", `unix:${path}`)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
    expect(existsSync(join(dir, "state"))).toBe(false);
  });
});

it("a file that is not a socket is left alone, and the sidecar ends with 1", async () => {
  const path = join(folder, "file");
  writeFileSync(path, "mine");
  await expect(startSidecar({ flags: ["--listen", `unix:${path}`] })).rejects.toThrow(
    /ended with 1\n[\s\S]*not a socket/,
  );
  expect(statSync(path).size).toBe(4);
});
