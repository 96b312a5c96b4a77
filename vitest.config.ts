import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const WORKERS = Math.min(4, Math.max(2, availableParallelism()));

/** The groups run one after the other, so that what is timed against real programs does not share the cores with unit tests. */
function project(name: string, groupOrder: number, include: string, timeoutMs: number) {
  return {
    test: {
      name,
      include: [include],
      sequence: { groupOrder },
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      setupFiles: ["test/support/leak-check.ts"],
      ...(name === "unit" ? {} : { globalSetup: ["test/support/build-programs.ts"] }),
      pool: "forks" as const,
      maxWorkers: WORKERS,
      maxConcurrency: 3, // of the tests that say so themselves: those that mostly wait for real programs
      restoreMocks: true,
      allowOnly: false,
      passWithNoTests: false,
    },
  };
}

export default defineConfig({
  test: {
    projects: [
      project("unit", 0, "{bench,cmd,internal,pkg,scripts,test/lab}/**/*.test.ts", 10_000),
      project("integration", 1, "test/integration/**/*.test.ts", 60_000),
      project("e2e", 2, "test/e2e/**/*.test.ts", 120_000),
    ],
  },
});
