import { describe, expect, it } from "vitest";
import { JsonRpcPeer } from "./json-rpc-peer.ts";

function peer(handle: (method: string) => Promise<object | undefined> = async () => undefined) {
  const written: object[] = [];
  const told: string[] = [];
  const write = async (message: object) => {
    written.push(message);
  };
  const handlers = { request: handle, notification: (method: string) => void told.push(method) };
  return { rpc: new JsonRpcPeer(write, handlers, { version: true }), written, told };
}

const never = new AbortController().signal;

describe("one end of JSON-RPC over lines", () => {
  it("returns to each request its own answer, whatever their order", async () => {
    const { rpc, written } = peer();
    const first = rpc.request("a", { x: 1 }, never);
    const second = rpc.request("b", {}, never);
    expect(written).toEqual([
      { jsonrpc: "2.0", id: 1, method: "a", params: { x: 1 } },
      { jsonrpc: "2.0", id: 2, method: "b", params: {} },
    ]);
    expect(rpc.onLine('{"id":2,"result":{"n":2}}')).toBe(true);
    expect(rpc.onLine('{"id":1,"result":null}')).toBe(true);
    expect(await first).toEqual({});
    expect(await second).toEqual({ n: 2 });
  });

  it("rejects with the agent's reason as plain text", async () => {
    const { rpc } = peer();
    const answer = rpc.request("a", {}, never);
    rpc.onLine('{"id":1,"error":{"code":-1,"message":"no\\u001b[31m such\\nthread","data":{"details":"gone"}}}');
    await expect(answer).rejects.toMatchObject({
      kind: "precondition",
      message: "the agent refused: no such thread: gone",
    });
  });

  it("stops waiting when its signal is aborted, and ignores a late answer", async () => {
    const { rpc } = peer();
    const stop = new AbortController();
    const answer = rpc.request("a", {}, stop.signal);
    stop.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
    expect(rpc.onLine('{"id":1,"result":{}}')).toBe(true);
  });

  it("answers requests of the agent, refuses unknown ones, and hides its own failures", async () => {
    const { rpc, written, told } = peer(async (method) => {
      if (method === "fails") throw new Error("a secret");
      return method === "known" ? { yes: true } : undefined;
    });
    for (const [id, method] of ["known", "unknown", "fails"].entries()) rpc.onLine(JSON.stringify({ id, method }));
    rpc.onLine('{"method":"told"}');
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toEqual([
      { jsonrpc: "2.0", id: 0, result: { yes: true } },
      { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "no method unknown" } },
      { jsonrpc: "2.0", id: 2, error: { code: -32603, message: "internal error" } },
    ]);
    expect(told).toEqual(["told"]);
  });

  it.each(["", "text", "[]", "{}", '{"id":{}}', '{"id":null,"result":1}', '{"method":7}'])("ignores %j", (line) => {
    expect(peer().rpc.onLine(line)).toBe(false);
  });
});
