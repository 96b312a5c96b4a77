import { defineConfig } from "vitest/config";

const common = { globals: false, restoreMocks: true, allowOnly: false, passWithNoTests: false };

export default defineConfig({
  test: {
    projects: [
      { test: { ...common, name: "unit", include: ["{cmd,internal,pkg,scripts}/**/*.test.ts"], testTimeout: 10_000 } },
      {
        test: {
          ...common,
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...common,
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
