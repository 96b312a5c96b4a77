import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { heldSince, presentNow } from "../support/leaks.ts";

const MARKER = "GT_LEAK_PROBE=1";
const env = { ...process.env, GT_LEAK_PROBE: "1" };

const before = presentNow();
/** Without the processes of others: `heldSince` lists them while they replace their program. */
const held = (since = before) =>
  heldSince(since, MARKER).flatMap((leak) => (leak.kind === "process" && !leak.isOurs ? [] : [leak.what]));

describe("a leak of a test file", () => {
  it("is a child, until it has ended", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore", env: {} });
    const ended = new Promise((resolve) => child.once("close", resolve));
    expect(held()).toContain(`${child.pid} sleep 60`);
    child.kill();
    await ended;
    expect(held()).not.toContain(`${child.pid} sleep 60`);
  });

  it("is a descendant that became a daemon", async () => {
    const child = spawn("sh", ["-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!"], { env });
    const pid = Number(await text(child.stdout));
    try {
      expect(held().filter((what) => what.startsWith(`${pid} `))).toHaveLength(1);
    } finally {
      process.kill(pid, "SIGKILL");
    }
  });

  it("is a listening socket, even one that does not keep the process alive", async () => {
    const server = createServer().unref();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { readonly port: number };
    expect(held()).toContain(`tcp port ${port}`);
    await new Promise((resolve) => server.close(resolve));
    expect(held()).not.toContain(`tcp port ${port}`);
  });

  it("is nothing that existed before", async () => {
    const server = createServer().unref();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const child = spawn("sleep", ["60"], { stdio: "ignore", env });
    const ended = new Promise((resolve) => child.once("close", resolve));
    try {
      expect(held()).toHaveLength(2);
      expect(held(presentNow())).toEqual([]);
    } finally {
      child.kill();
      await Promise.all([ended, new Promise((resolve) => server.close(resolve))]);
    }
  });
});
