import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./scripts/testing/longest-first.ts";

const CORES = Math.min(4, Math.max(2, availableParallelism()));

/**
 * The groups run one after the other, so that what is timed against real programs does not share the cores with unit
 * tests.
 */
function project(name: string, groupOrder: number, include: string, timeoutMs: number, workers: number) {
  return {
    test: {
      name,
      include: [include],
      sequence: { groupOrder },
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      expect: { poll: { timeout: timeoutMs / 4 } },
      setupFiles: ["test/support/leak-check.ts"],
      ...(name === "unit" ? {} : { globalSetup: ["test/support/build-programs.ts"] }),
      pool: "forks" as const,
      maxWorkers: workers,
      isolate: name !== "unit", // a new process for each file costs more than most unit tests take
      maxConcurrency: 3, // of the tests that say so themselves: those that mostly wait for real programs
      restoreMocks: true,
      allowOnly: false,
      passWithNoTests: false,
    },
  };
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      project("unit", 0, "{bench,cmd,internal,pkg,scripts,test/lab}/**/*.test.ts", 30_000, CORES),
      // They wait for tmux and for other processes half of their time.
      project("integration", 1, "test/integration/**/*.test.ts", 120_000, CORES + 3),
      project("e2e", 2, "test/e2e/**/*.test.ts", 240_000, CORES + 1),
    ],
  },
});
