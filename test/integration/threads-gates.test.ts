import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ThreadsServer } from "../support/threads/threads-server.ts";

let server: ThreadsServer;
beforeAll(async () => {
  server = await ThreadsServer.start("--audit-log", "audit.log");
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

const audited = (call: string) =>
  readFileSync(join(server.dir, "audit.log"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line["call"] === call);

function ask(headers: Readonly<Record<string, string>>, body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}') {
  const asked = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
  return fetch(`${server.url}/v1/mcp`, { method: "POST", headers: asked, body });
}

const bearer = () => ({ authorization: `Bearer ${server.token("town/fixer", "fixer")}` });

it("FR-11: an MCP call passes the same gates as every call, and each refusal is audited once", async () => {
  const before = audited("threads.mcp/POST /v1/mcp").length;
  const refusals = [await ask({}), await ask({ ...bearer(), origin: "https://evil.example" })];
  expect(refusals.map(({ status }) => status)).toEqual([401, 403]);
  const codes = await Promise.all(refusals.map(async (one) => ((await one.json()) as { error: object }).error));
  expect(codes).toMatchObject([{ code: "UNAUTHORIZED" }, { code: "FORBIDDEN" }]);
  const where = `${server.url}/.well-known/oauth-protected-resource/v1/mcp`;
  expect(refusals[0]?.headers.get("www-authenticate")).toContain(`resource_metadata="${where}"`);
  expect(await (await fetch(where)).json()).toMatchObject({ resource: `${server.url}/v1/mcp` });
  const lines = audited("threads.mcp/POST /v1/mcp").slice(before);
  expect(lines.map(({ outcome, code }) => [outcome, code])).toEqual([
    ["refused", "unauthenticated"],
    ["refused", "denied"],
  ]);
});

it("FR-11: a request's body is bounded, and ambiguous JSON is refused", async () => {
  expect((await ask(bearer(), `"${"x".repeat(600_000)}"`)).status).toBe(413);
  const twice = await ask(bearer(), '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}');
  expect([twice.status, await twice.json()]).toMatchObject([400, { error: { code: -32_700 } }]);
  const call = '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"whoami","arguments":{"__proto__":{}}}}';
  const hidden = await ask(bearer(), call);
  const error = { code: -32_602, data: { error: { code: "VALIDATION_ERROR", message: "__proto__ is not known" } } };
  expect([hidden.status, await hidden.json()]).toMatchObject([400, { id: 3, error }]);
});
