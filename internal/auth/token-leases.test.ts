import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../test/support/fake-clock.ts";
import type { TokenClaims } from "./token-claims.ts";
import { TokenLeases } from "./token-leases.ts";
import type { VerifiedToken } from "./token-verifier.ts";

let clock: FakeClock;
let dropped: Set<VerifiedToken>;
let leases: TokenLeases;
let stop: AbortController;
beforeEach(async () => {
  clock = new FakeClock();
  dropped = new Set();
  leases = new TokenLeases({ clock, holds: (token) => !dropped.has(token) });
  stop = new AbortController();
  const running = leases.run(stop.signal);
  return async () => {
    stop.abort();
    await running;
    expect(clock.sleeping).toBe(0);
  };
});

function tokenOf(endsInMs: number, more: Partial<TokenClaims> = {}): VerifiedToken {
  const claims = {
    issuer: "i",
    subject: "s",
    project: "p",
    role: "operate",
    expiresAt: clock.now() + endsInMs,
    ...more,
  };
  return { claims } as VerifiedToken;
}

/** A stream; `state` says why it ended. */
function stream(connection: object, token: VerifiedToken) {
  const closed = new AbortController();
  const state = { ended: "", close: () => closed.abort() };
  leases.hold(
    connection,
    token,
    (why) => {
      state.ended = why.message;
    },
    closed.signal,
  );
  return state;
}

const connection = {};

describe("a stream", () => {
  it("ends when its token ends, not before", async () => {
    const one = stream(connection, tokenOf(1000));
    await clock.advance(999);
    expect(one.ended).toBe("");
    await clock.advance(1);
    expect(one.ended).toContain("has expired");
  });

  it("continues until the end of a newer token of the same caller on its connection", async () => {
    const one = stream(connection, tokenOf(1000));
    leases.shown(connection, tokenOf(3000));
    await clock.advance(2999);
    expect(one.ended).toBe("");
    await clock.advance(1);
    expect(one.ended).not.toBe("");
  });

  it.each<[string, object, Partial<TokenClaims>]>([
    ["another connection", {}, {}],
    ["another issuer", connection, { issuer: "j" }],
    ["another subject", connection, { subject: "t" }],
    ["another project", connection, { project: "q" }],
    ["a smaller scope", connection, { role: "nudge" }],
  ])("does not continue for a newer token of %s", async (_, where, claims) => {
    const one = stream(connection, tokenOf(1000));
    leases.shown(where, tokenOf(3000, claims));
    await clock.advance(1000);
    expect(one.ended).not.toBe("");
  });

  it("with a smaller scope continues for a token with a larger one", async () => {
    const one = stream(connection, tokenOf(1000, { role: "read" }));
    leases.shown(connection, tokenOf(3000));
    await clock.advance(1000);
    expect(one.ended).toBe("");
  });

  it("ends when the key of its token is dropped, unless another token allows it", async () => {
    const [old, next] = [tokenOf(5000), tokenOf(6000)];
    const [one, other] = [stream(connection, old), stream({}, old)];
    leases.shown(connection, next);
    dropped.add(old);
    leases.reconsider();
    await settle();
    expect([one.ended, other.ended === ""]).toEqual(["", false]);
  });

  it("leaves no timer behind when it is closed", async () => {
    const one = stream(connection, tokenOf(1000));
    one.close();
    expect(leases.size).toBe(0);
    await clock.advance(2000);
    expect(one.ended).toBe("");
  });
});
