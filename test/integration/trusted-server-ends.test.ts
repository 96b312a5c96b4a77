import { expect, it } from "vitest";
import { TestCa } from "../support/bridge/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { ask, CALLS, type CallTarget, KINDS } from "../support/trusted/four-calls.ts";
import { HalfSent } from "../support/trusted/half-sent.ts";
import { certificateOf, openRoom, type TrustedRoom } from "../support/trusted/trusted-room.ts";

const OPEN = ["stream", "route", "socket"] as const;

const at = ({ port, ca, client, token }: TrustedRoom): CallTarget => ({ port, ca: ca.pem, client, token: token() });

/** Opens a stream, an answer and a socket. The result waits for their ends and returns the last message of each. */
async function openAll(asked: CallTarget): Promise<() => Promise<readonly string[]>> {
  const calls = await Promise.all(OPEN.map((kind) => ask(kind, asked)));
  expect(calls.map(({ code }) => code)).toEqual(["open", "open", "open"]);
  return () => Promise.all(calls.map(({ ended }) => ended));
}

it.concurrent("connections end when their token expires, and are audited once each", async () => {
  await using room = await openRoom();
  const last = await openAll({ ...at(room), token: room.token({ ttlMs: 20_000 }) });
  const why = "the token has expired, and no newer one was sent over this connection";
  const [stream, answer, socket] = await last();
  expect(stream).toContain(`"code":"unauthenticated","message":"${why}"`);
  expect([answer, socket]).toEqual([`openended: ${why}`, `ended: ${why}`]);
  const ended = room.audited().filter(({ outcome }) => outcome === "ended");
  expect(ended.map(({ call }) => call).toSorted()).toEqual([CALLS.route, CALLS.socket, CALLS.stream].toSorted());
});

it.concurrent("connections end when their caller's certificate is revoked", async () => {
  await using room = await openRoom();
  const last = await openAll(at(room));
  await room.revoke(room.client);
  const why = "the caller's certificate is revoked";
  const [stream, answer, socket] = await last();
  expect(stream).toContain(`"code":"unauthenticated","message":"${why}"`);
  expect([answer, socket]).toEqual([`openended: ${why}`, `ended: ${why}`]);
});

it.concurrent("connections end when the server drains, even an answer that ignores the signal", async () => {
  await using room = await openRoom({ graceMs: 60_000 });
  const last = await openAll(at(room));
  const deaf = await ask("deaf", at(room));
  expect(deaf.code).toBe("open");
  const stopped = room.stop();
  const [stream, answer, socket] = await last();
  expect(stream).toContain('"code":"unavailable","message":"the server is shutting down"');
  expect([answer, socket]).toEqual(["openended: the server is shutting down", "ended: the server is shutting down"]);
  expect(await deaf.ended).toBe("open");
  await stopped;
});

it.concurrent("requests that arrive during the drain are refused, and audited once each", async () => {
  await using room = await openRoom({ graceMs: 60_000, limits: { handshakeTimeoutMs: 60_000 } });
  const begun = await Promise.all(KINDS.map((kind) => HalfSent.begin(kind, at(room))));
  const before = room.audited().length;
  const stopped = room.stop();
  await eventually("the start of the drain", () => room.isStopping());
  const answers = await Promise.all(begun.map((half) => half.finish()));
  for (const answer of answers)
    expect(answer).toContain('"code":"unavailable","message":"the server is shutting down"');
  await stopped;
  const lines = room.audited().slice(before);
  expect(lines.map(({ call, outcome }) => [call, outcome]).toSorted()).toEqual(
    KINDS.map((kind) => [CALLS[kind], "refused"]).toSorted(),
  );
});

it.concurrent("connections need only a token where a certificate is optional, unless the token is bound to one", async () => {
  await using room = await openRoom({ clientCertificate: "optional" });
  const bare = { ...at(room), client: undefined };
  const bound = room.token({ certificate: certificateOf(room.client) });
  const stranger = new TestCa("shop").issue({ uris: ["spiffe://shop.example/client/app"] });
  const cases: readonly [CallTarget, string][] = [
    [bare, "open"],
    [{ ...bare, token: undefined }, "unauthenticated"],
    [{ ...bare, token: bound }, "unauthenticated"],
    [{ ...at(room), token: bound }, "open"],
    [{ ...at(room), client: stranger }, "no answer"],
  ];
  for (const [asked, code] of cases) {
    const seen = await Promise.all(KINDS.map((kind) => ask(kind, asked)));
    expect(seen.map((one) => one.code)).toEqual(KINDS.map(() => code));
    for (const { close } of seen) close();
  }
});

it.concurrent("connections over a unix socket are served too, with a token", async () => {
  await using room = await openRoom({ onSocket: true });
  const asked = { socketPath: room.path, token: room.token() };
  const seen = await Promise.all(KINDS.map((kind) => ask(kind, asked)));
  expect(seen.map(({ code }) => code)).toEqual(["open", "open", "open", "open"]);
  for (const { close } of seen) close();
  const refused = await Promise.all(KINDS.map((kind) => ask(kind, { socketPath: room.path })));
  expect(refused.map(({ code }) => code)).toEqual(KINDS.map(() => "unauthenticated"));
});
