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
    let refused = 0;
    const call = () => thief.call().then(() => "answered", domainErrorOf);
    let last = await call();
    for (; kindOf(last) === "unauthenticated" && refused < 2000; refused++) last = await call();
    const seconds = (performance.now() - began) / 1000;
    expect(kindOf(last)).not.toBe("unauthenticated");
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(BURST + Math.ceil(PER_SECOND * seconds));
    expect(await honest.call()).toMatchObject({ sessionAlive: true });
  });
});

const kindOf = (err: unknown) => (err instanceof DomainError ? err.kind : String(err));
