import { describe, expect, it } from "vitest";
import { ANSWERS } from "../lab/dialogs/dialog-case.ts";
import type { CaseResult } from "../lab/dialogs/judge-case.ts";
import { runCases } from "../lab/dialogs/run-cases.ts";
import { requireComponent } from "../support/cluster/components.ts";

/** The start of OpenCode alone takes 10 s of a core. */
const ALL_MS = 240_000;

/** A short run of `npm run lab:dialogs`: one dialog for each kind of choice. */
describe.each(["claude", "codex", "opencode"] as const)("dialogs of %s that quote dialogs", (agent) => {
  it(
    "are answered with the named choice, and no tool runs against the answer",
    async (context) => {
      await requireComponent(context, agent);
      const results: CaseResult[] = [];
      const troubles: string[] = [];
      await runCases({
        agent,
        seed: 7,
        from: 0,
        count: ANSWERS[agent].length,
        done: new Set(),
        signal: context.signal,
        onResult: (result) => results.push(result),
        onTrouble: (text) => troubles.push(text),
      });
      expect(troubles).toEqual([]);
      expect(results.flatMap(({ id, faults }) => faults.map((fault) => `${id}: ${fault}`))).toEqual([]);
      expect(results).toHaveLength(ANSWERS[agent].length);
      expect(results.filter((result) => result.answered === "answered").length).toBeGreaterThan(0);
    },
    ALL_MS,
  );
});
