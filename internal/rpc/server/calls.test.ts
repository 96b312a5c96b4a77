import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { callerOf } from "../port/caller.ts";
import type { Peer } from "../port/peer.ts";
import { type Call, Calls } from "./calls.ts";

const shareOf = (peer: Peer) => callerOf(peer, undefined, false).share;
const at = (address: string) => shareOf({ type: "unverified", address });
const known = (uri: string, address = "10.0.0.9:1") =>
  shareOf({ type: "certificate", identities: [uri], serial: "01", notAfter: 0, address });
const KIB = 1024;
const limits = {
  maxCalls: 3,
  maxCallsOfOne: 2,
  maxRequestBytes: 10_000,
  maxRequestBytesOfOne: 10_000,
  maxAnswerBytes: 500 * KIB,
  maxAnswerBytesOfOne: 300 * KIB,
};
const exhausted = expect.objectContaining({ kind: "exhausted" });

describe("simultaneous calls", () => {
  it("are refused to a caller at its share, known by its address, and not to others", () => {
    const calls = new Calls({ ...limits, maxCalls: 4 });
    const addresses = ["[::1]:1", "[::1]:2", "[::1]:3", "[::2]:1"];
    const refusals = addresses.map((address) => calls.enter(at(address))?.refusal);
    expect(refusals).toEqual([undefined, undefined, exhausted, undefined]);
  });

  it("are refused to every caller if there is no room, until one has ended", () => {
    const calls = new Calls(limits);
    const [first] = ["a", "b", "c"].map((name) => calls.enter(known(`spiffe://t/client/${name}`)));
    const refused = calls.enter(known("spiffe://t/client/d"));
    expect(refused?.refusal).toEqual(exhausted);
    refused?.closed();
    first?.closed();
    expect(calls.enter(known("spiffe://t/client/d"))?.refusal).toBe(undefined);
  });

  it("count for a certificate's name, wherever it calls from", () => {
    const calls = new Calls(limits);
    for (const address of ["10.0.0.1:1", "10.0.0.2:1"]) calls.enter(known("spiffe://t/client/a", address));
    expect(calls.enter(known("spiffe://t/client/a", "10.0.0.3:1"))?.refusal).toEqual(exhausted);
  });

  it("lead to a cut connection if a refused caller does not leave", () => {
    const calls = new Calls(limits);
    const all = Array.from({ length: 6 }, (_, i) => calls.enter(at(`10.0.0.${i}:1`)));
    expect(all.map((call) => call?.refusal)).toEqual([
      undefined,
      undefined,
      undefined,
      exhausted,
      exhausted,
      exhausted,
    ]);
    expect(calls.enter(at("10.0.0.9:1"))).toBe(undefined);
    all[5]?.closed();
    expect(calls.enter(at("10.0.0.9:1"))?.refusal).toEqual(exhausted);
  });
});

const entered = (calls: Calls, address: string): Call => {
  const call = calls.enter(at(address));
  if (call === undefined) throw new Error("cut off");
  return call;
};

describe("the memory held by requests", () => {
  const full = expect.objectContaining({ rawMessage: "too much data is sent here at a time" });

  it("is bounded, and released with the answers", () => {
    const calls = new Calls(limits);
    const [first, second] = [entered(calls, "a:1"), entered(calls, "b:1")];
    first.hold(6000);
    expect(() => second.hold(5000)).toThrow(full);
    second.answered();
    first.release(2000);
    second.hold(6000);
    expect(() => second.hold(1)).toThrow(full);
    for (const call of [first, second]) call.answered();
    entered(calls, "a:1").hold(10_000);
  });

  it("is bounded for each caller", () => {
    const calls = new Calls({ ...limits, maxRequestBytesOfOne: 6000 });
    const [first, second] = [entered(calls, "a:1"), entered(calls, "a:2")];
    first.hold(5000);
    expect(() => second.hold(4097)).toThrow("sent by one caller");
    // Its stream may stay open; what was refused is not kept.
    entered(calls, "b:1").hold(5000);
  });

  it("never excludes a small request", () => {
    const calls = new Calls(limits);
    entered(calls, "a:1").hold(10_000);
    const small = entered(calls, "b:1");
    small.hold(4096);
    expect(() => small.hold(1)).toThrow(full);
  });
});

describe("the memory held by answers until they are read", () => {
  it("is bounded for one caller and for all, and released with each part that is read", () => {
    const calls = new Calls(limits);
    const [first, second, other] = [entered(calls, "a:1"), entered(calls, "a:2"), entered(calls, "b:1")];
    first.answering(200 * KIB);
    expect(() => second.answering(200 * KIB)).toThrow(expect.objectContaining({ code: Code.ResourceExhausted }));
    second.answering(100 * KIB);
    expect(() => other.answering(250 * KIB)).toThrow(expect.objectContaining({ code: Code.ResourceExhausted }));
    other.answering(200 * KIB);
    first.answering(0);
    other.answering(250 * KIB);
    second.closed();
    first.answering(250 * KIB);
  });

  it("never delays a small answer", () => {
    const calls = new Calls(limits);
    entered(calls, "a:1").answering(300 * KIB);
    entered(calls, "b:1").answering(200 * KIB);
    entered(calls, "a:2").answering(64 * KIB);
  });
});
