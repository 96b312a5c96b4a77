import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { inLocalTmux } from "../support/agents/agent-places.ts";
import { backendConformance } from "./backend-conformance.ts";

backendConformance("TmuxBackend", inLocalTmux);

describe("an unknown program in local tmux", () => {
  it.each([
    ["that has drawn nothing for 5 s", "sleep 60", 5000],
    ["that has drawn something", "echo hello; sleep 60", 0],
  ])("%s is reported as uncertain with weak evidence", async (_, script, ageMs) => {
    await using place = await inLocalTmux({ argv: () => ["sh", "-c", script], profile: "generic" });
    await sleep(ageMs);
    const told = async () => {
      const { alive, state, evidence } = await place.backend.status(new AbortController().signal);
      return { alive, state, confidences: evidence.map(({ confidence }) => confidence) };
    };
    await expect.poll(told).toEqual({ alive: true, state: "uncertain", confidences: ["weak"] });
  });
});
