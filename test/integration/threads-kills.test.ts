import { describe, expect, it } from "vitest";
import { randomFrom } from "../fuzz/random.ts";
import { wakeWhileKilling } from "../lab/threads/wakes.ts";
import { writeWhileKilling } from "../lab/threads/writes.ts";
import { requireComponent } from "../support/cluster/components.ts";

/** On a busy machine a sidecar takes long to start, and a killed server's work is claimed only after its lease. */
const LONG_MS = 400_000;

describe.concurrent("with servers and PostgreSQL killed at random", () => {
  it(
    "F1 F3: 32 writers lose nothing, store nothing twice and leave no gap",
    async () => {
      const { kills, acknowledged, ...found } = await writeWhileKilling({
        ...{ seconds: 20, random: randomFrom(7), pauseMs: 3000, threads: 20 },
      });
      expect(found).toMatchObject({ lost: 0, doubled: 0, gaps: 0, verified: true });
      expect(acknowledged).toBeGreaterThan(0);
      expect(kills.server + kills.postgres).toBeGreaterThan(0);
    },
    LONG_MS,
  );

  it(
    "F4 F5 F6: agents are woken once for every message, and no receipt is false",
    async () => {
      const { kills, typed, ...found } = await wakeWhileKilling({
        ...{ seconds: 30, agents: 2, random: randomFrom(3), pauseMs: 4000, everyMs: 2000 },
      });
      expect(found).toMatchObject({ lost: 0, doubled: 0, false: 0 });
      expect(typed).toBeGreaterThan(0);
      expect(kills.server + kills.postgres + kills.serving).toBeGreaterThan(0);
    },
    LONG_MS,
  );

  it("F4 F5 F6: Claude Code is woken once for every message", { timeout: LONG_MS }, async (context) => {
    await requireComponent(context, "claude");
    const { kills, typedToReal, ...found } = await wakeWhileKilling({
      ...{ seconds: 30, agents: 0, real: ["claude-2.1.330"], random: randomFrom(5), pauseMs: 4000, everyMs: 2000 },
    });
    expect(found).toMatchObject({ lost: 0, doubled: 0, false: 0 });
    expect(typedToReal).toBeGreaterThan(0);
    expect(kills.server + kills.postgres + kills.serving).toBeGreaterThan(0);
  });
});
