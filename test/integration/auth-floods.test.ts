import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { residentMiB } from "../../bench/proc.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import { FloodedServer, type WrongCredentials } from "../support/bridge/flooded-server.ts";

/** The refusals that one caller may cause: at once, and per second. */
const [BURST, PER_SECOND] = [256, 50];

describe("a flood", () => {
  let server: FloodedServer;
  beforeAll(async () => {
    server = await FloodedServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each<WrongCredentials>(["tokens", "certificates"])(
    "of wrong %s locks no caller out and costs no memory",
    async (wrong) => {
      using open = server.caller();
      await open.call();
      const before = residentMiB(server.pid);
      const flood = await server.flood(wrong);
      let isFlood = false;
      void flood.many.then(() => {
        isFlood = true;
      });
      // On a machine without a free core the flood needs more time to build up.
      for (let i = 0; i < 10 || !isFlood; i++) {
        using newcomer = server.caller();
        await Promise.all([newcomer.call(), open.call()]);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      const tried = await flood.end();
      expect(tried).toBeGreaterThan(100);
      expect(residentMiB(server.pid) - before).toBeLessThan(48);
    },
  );

  it("of wrong tokens loses its connections, and does not affect the caller whose name it claims", async () => {
    using thief = server.caller(generateKeyPairSync("ed25519").privateKey);
    using honest = server.caller();
    const began = performance.now();
    const kinds: string[] = [];
    const call = async () => void kinds.push(await thief.call().then(() => "answered", kindOf));
    const isRefused = (kind: string) => kind === "unauthenticated";
    // Side by side: one after the other, on a busy machine, they would be fewer than a caller may cause.
    while (kinds.every(isRefused) && kinds.length < 4000) await Promise.all(Array.from({ length: 64 }, call));
    const seconds = (performance.now() - began) / 1000;
    const refused = kinds.filter(isRefused).length;
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThan(kinds.length);
    expect(kinds).not.toContain("answered");
    expect(refused).toBeLessThanOrEqual(BURST + Math.ceil(PER_SECOND * seconds));
    expect(await honest.call()).toMatchObject({ sessionAlive: true });
  });
});

function kindOf(err: unknown): string {
  const known = domainErrorOf(err);
  return known instanceof DomainError ? known.kind : String(known);
}
