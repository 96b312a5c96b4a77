import { beforeAll, describe, expect, it } from "vitest";
import { randomFrom } from "../fuzz/random.ts";
import { type WakeFigures, wakeWhileKilling } from "../lab/threads/wakes.ts";
import { writeWhileKilling } from "../lab/threads/writes.ts";
import { component, requireComponent } from "../support/cluster/components.ts";

/** On a busy machine a sidecar takes long to start, and a killed server's work is claimed only after its lease. */
const LONG_MS = 400_000;

describe.concurrent("with servers and PostgreSQL killed at random", () => {
  it(
    "F1 F3: 32 writers lose nothing, store nothing twice and leave no gap",
    async () => {
      const { kills, acknowledged, ...found } = await writeWhileKilling({
        ...{ seconds: 12, random: randomFrom(7), pauseMs: 1500, threads: 20 },
      });
      expect(found).toMatchObject({ lost: 0, doubled: 0, gaps: 0, verified: true });
      expect(acknowledged).toBeGreaterThan(0);
      expect(kills.server + kills.postgres).toBeGreaterThan(0);
    },
    LONG_MS,
  );

  describe.concurrent("wakes", () => {
    const CLAUDE = "claude-2.1.330";
    let found: WakeFigures;
    beforeAll(async () => {
      const real = "path" in (await component("claude")) ? ([CLAUDE] as const) : [];
      found = await wakeWhileKilling({
        ...{ seconds: 30, agents: 2 - real.length, real, random: randomFrom(3), pauseMs: 3000, everyMs: 1500 },
      });
    }, LONG_MS);

    it("F4 F5 F6: agents are woken once for every message, and no receipt is false", () => {
      expect(found).toMatchObject({ lost: 0, doubled: 0, false: 0 });
      expect(found.typed - found.typedToReal).toBeGreaterThan(0);
      const { server, postgres, serving } = found.kills;
      expect(server + postgres + serving).toBeGreaterThan(0);
    });

    it("F4 F5 F6: Claude Code is woken once for every message", async (context) => {
      await requireComponent(context, "claude");
      expect(found).toMatchObject({ lost: 0, doubled: 0, false: 0 });
      expect(found.typedToReal).toBeGreaterThan(0);
    });
  });
});
