import { describe, expect, it } from "vitest";
import { soakRelay } from "../lab/relay/soak-relay.ts";
import { newestNats, oldestNats } from "../support/relay/nats-server.ts";

// A short run of `npm run soak -- --only relay`.
describe.concurrent.each([
  ["oldest", () => oldestNats()],
  ["newest", newestNats],
] as const)("while agents, relays and the %s server are cut, killed and suspended", (name, program) => {
  it("every piece of work gets one correct result", { timeout: 1_800_000 }, async (context) => {
    const seed = name === "oldest" ? 7 : 8;
    const options = { nats: await program(context), works: 120, sessions: 8, seed, everyMs: 700, say: () => {} };
    const result = await soakRelay(options, context.signal);
    expect(result).toMatchObject({ verdict: { lost: [], doubled: [], mixed: [], untrue: [] }, works: 120, waiting: 0 });
  });
});
