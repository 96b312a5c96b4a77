import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { ask, CALLS, type CallKind, type CallTarget, KINDS } from "../support/trusted/four-calls.ts";
import { newClient, openRoom, type TrustedRoom } from "../support/trusted/trusted-room.ts";

let room: TrustedRoom;
let narrow: TrustedRoom;
beforeAll(async () => {
  room = await openRoom();
  narrow = await openRoom({ limits: { maxCallsOfOne: 1 } });
});
afterAll(async () => {
  await room[Symbol.asyncDispose]();
  await narrow[Symbol.asyncDispose]();
});

const at = ({ port, ca, client, token }: TrustedRoom): CallTarget => ({ port, ca: ca.pem, client, token: token() });

async function codeOf(kind: CallKind, asked: CallTarget): Promise<string> {
  const { code, close } = await ask(kind, asked);
  close();
  return code;
}

/** The decisions about calls of this kind since `before`. */
const since = (of: TrustedRoom, before: number, kind: CallKind) =>
  of
    .audited()
    .slice(before)
    .filter(({ event, call }) => event === "call" && call === CALLS[kind]);

async function refused(of: TrustedRoom, kind: CallKind, asked: CallTarget) {
  const before = of.audited().length;
  const code = await codeOf(kind, asked);
  const lines = since(of, before, kind);
  return { code, audited: lines.map(({ outcome, reason }) => `${outcome}: ${reason ?? ""}`) };
}

describe.each(KINDS)("%s", (kind) => {
  it("is let in with a certificate and a token of its issuer, and audited once", async () => {
    expect(await refused(room, kind, at(room))).toEqual({ code: "open", audited: ["allowed: "] });
  });

  it("is refused without a certificate, by the handshake, and audited once", async () => {
    const before = room.audited().length;
    expect(await codeOf(kind, { ...at(room), client: undefined })).toBe("no answer");
    await eventually("the audit", () => room.audited().length > before);
    expect(room.audited().slice(before)).toMatchObject([{ event: "connection", outcome: "refused" }]);
  });

  it("is refused without a token", async () => {
    expect(await refused(room, kind, { ...at(room), token: undefined })).toEqual({
      code: "unauthenticated",
      audited: ["refused: the call has no token (authorization: Bearer)"],
    });
  });

  it("is refused for another Host", async () => {
    expect(await refused(room, kind, { ...at(room), host: "evil.example" })).toEqual({
      code: "permission_denied",
      audited: ['refused: host "evil.example" is not allowed (see --allow-host)'],
    });
  });

  it("is refused with a certificate that is revoked", async () => {
    const client = newClient(room);
    await room.revoke(client);
    const asked = { ...at(room), client };
    let seen = await refused(room, kind, asked);
    for (const end = performance.now() + 30_000; seen.code === "open" && performance.now() < end; )
      seen = await refused(room, kind, asked);
    expect(seen).toEqual({ code: "unauthenticated", audited: ["refused: the caller's certificate is revoked"] });
  });

  it("is refused when its caller calls too often", async () => {
    const asked = { ...at(room), token: room.token({ subject: "hasty" }) };
    expect(await codeOf(kind, asked)).toBe("open");
    expect(await refused(room, kind, asked)).toEqual({
      code: "resource_exhausted",
      audited: [expect.stringMatching(/^refused: too many calls: the limit is 1 a minute/)],
    });
  });

  it("is refused when its caller's share of calls is used up", async () => {
    const asked = at(narrow);
    let holding = await ask("route", asked);
    // The earlier calls are not over at once.
    for (const end = performance.now() + 30_000; holding.code !== "open" && performance.now() < end; )
      holding = await ask("route", asked);
    expect(holding.code).toBe("open");
    expect(await refused(narrow, kind, asked)).toEqual({
      code: "resource_exhausted",
      audited: ["refused: too many calls of one caller at a time: the limit is 1"],
    });
    holding.close();
  });
});
