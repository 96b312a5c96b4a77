import { expect, it } from "vitest";
import { collectGarbage } from "../../../test/support/collect-garbage.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { HttpConnections } from "./http-connections.ts";

function connections() {
  const clock = new FakeClock();
  const handled: string[] = [];
  const stream = () => new ReadableStream<Uint8Array>();
  const http = new HttpConnections(clock, async ({ method }) => {
    handled.push(method);
    if (method !== "GET") return new Response(null, { status: 202 });
    return new Response(stream(), { headers: { "content-type": "text/event-stream" } });
  });
  http.opened("c", "ann");
  return { clock, handled, http };
}

const request = (method: string, signal = new AbortController().signal) =>
  new Request("http://relay/acp", { method, signal });

it("answers only the caller that opened the connection", async () => {
  const { http, handled } = connections();
  expect((await http.answer(request("POST"), "c", "ann")).status).toBe(202);
  await expect(http.answer(request("POST"), "c", "bob")).rejects.toMatchObject({ kind: "denied" });
  await expect(http.answer(request("DELETE"), "c", undefined)).rejects.toMatchObject({ kind: "denied" });
  expect(handled).toEqual(["POST"]);
});

it("starts a stream of events at once", async () => {
  const { http } = connections();
  const { body } = await http.answer(request("GET"), "c", "ann");
  const first = await body?.getReader().read();
  expect(Buffer.from(first?.value ?? []).toString()).toBe(": open\n\n");
});

it("closes a connection after a minute without use, unless it has an open stream", async () => {
  const { http, clock, handled } = connections();
  const [stop, left] = [new AbortController(), new AbortController()];
  const running = http.run(stop.signal);
  await http.answer(request("GET", left.signal), "c", "ann");
  await clock.advance(600_000);
  expect(handled).toEqual(["GET"]);
  await collectGarbage();
  left.abort();
  await clock.advance(59_000);
  expect(handled).toEqual(["GET"]);
  await clock.advance(10_000);
  expect(handled).toEqual(["GET", "DELETE"]);
  stop.abort();
  await running;
});
