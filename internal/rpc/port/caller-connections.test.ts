import { EventEmitter } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { CallerConnections } from "./caller-connections.ts";
import type { Peer } from "./peer.ts";

const LIMITS = {
  ...{ maxConnections: 100, maxConnectionsOfOne: 100, maxWithoutRole: 100 },
  ...{ idleMs: 60_000, idleWithoutRoleMs: 60_000, mayCutBusy: false },
};

/** The parts of a connection that the code uses. */
class FakeSession extends EventEmitter {
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
  }

  close(): void {}
}

describe("a caller whose credentials were refused too often", () => {
  let clock: FakeClock;
  let callers: CallerConnections;

  beforeEach(() => {
    clock = new FakeClock();
    callers = new CallerConnections({ clock, hasRole: () => false, onCut: () => {} }, LIMITS);
  });

  function connected(name: string): { readonly session: FakeSession; readonly peer: Peer } {
    const identities = [`spiffe://town/client/${name}`];
    const peer: Peer = { type: "certificate", identities, serial: "1", notAfter: 0, address: "10.0.0.1:1" };
    const session = new FakeSession();
    callers.addSession(session as unknown as ServerHttp2Session, peer);
    return { session, peer };
  }
  const isCutByACall = ({ session }: { readonly session: FakeSession }) => {
    session.emit("stream", new EventEmitter());
    return session.destroyed;
  };
  function spend(): void {
    const { peer } = connected("thief");
    for (let i = 0; i < 256; i++) callers.refused(peer);
  }

  it("has its new connections cut at their first call, before its credentials are checked, until its time is over", async () => {
    expect(isCutByACall(connected("thief"))).toBe(false);
    spend();
    expect(isCutByACall(connected("thief"))).toBe(true);
    await clock.advance(20);
    expect(isCutByACall(connected("thief"))).toBe(false);
  });

  it("keeps connections on which a call was admitted, and does not affect others", () => {
    const good = connected("thief");
    callers.promote(good.peer);
    spend();
    expect(isCutByACall(good)).toBe(false);
    expect(isCutByACall(connected("app"))).toBe(false);
  });
});
