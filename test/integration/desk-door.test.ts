import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { Door } from "../../internal/desk/tools/door.ts";
import { AllowedFiles } from "../../internal/files/allowed-files.ts";
import { pathPattern } from "../../internal/files/path-patterns.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";

describe("the door", () => {
  const stop = new AbortController();
  const stack = new DisposableStack();
  let port: number;
  let running: Promise<void>;

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "desk-door-"));
    stack.defer(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, "docs"));
    writeFileSync(join(folder, "docs/hours.md"), "nine to six\n");
    const files = stack.use(new AllowedFiles(join(folder, "docs"), "/docs"));
    const allowed = { patterns: [pathPattern("/docs/**")], maxBytes: 1000 };
    const door = new Door(
      { clock: systemClock, logger: createLogger("test", "silent") },
      { host: "127.0.0.1", port: 0, prefix: "/docs" },
    );
    door.admit(TOKEN, { read: (path) => files.read(path, allowed) });
    running = door.run(stop.signal);
    ({ port } = await door.listening);
  });

  afterAll(async () => {
    stop.abort();
    await running;
    stack.dispose();
  });

  /** The status of a request with these headers. */
  function statusOf(headers: Readonly<Record<string, string>>, body = "{}", method = "POST", path = "/mcp") {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const sent = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("error", reject).end(body);
    return promise;
  }
  const good = { authorization: `Bearer ${TOKEN}` };

  it("offers an MCP client one tool with one argument, and nothing else", async () => {
    const client = new Client({ name: "test", version: "1" });
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: good } }));
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["read_file"]);
      const call = (args: Record<string, unknown>) => client.callTool({ name: "read_file", arguments: args });
      expect(await call({ path: "/docs/hours.md" })).toMatchObject({ content: [{ text: "nine to six\n" }] });
      expect(await call({ path: "/admin/prices.md" })).toMatchObject({
        ...{ isError: true, content: [{ text: "cannot read it: not allowed" }] },
      });
      expect(await call({ path: "/docs/hours.md", root: "/" })).toMatchObject({ isError: true });
      expect(client.getServerCapabilities()).toEqual({ tools: expect.anything() });
    } finally {
      await client.close();
    }
  });

  it("refuses requests without its token, or from a page of another host", async () => {
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({ authorization: `Bearer ${TOKEN}x` })).toBe(401);
    expect(await statusOf({ authorization: TOKEN })).toBe(401);
    expect(await statusOf({ ...good, host: "door.example:80" })).toBe(403);
    expect(await statusOf({ ...good, origin: "http://door.example" })).toBe(403);
    expect(await statusOf(good, "", "GET")).toBe(405);
    expect(await statusOf(good, "{}", "POST", "/")).toBe(404);
    expect(await statusOf(good, "x".repeat(70_000))).toBe(413);
  });
});
