import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take minutes, by the end of their path: if one of them started last, all other cores would wait for it.
 */
const LONGEST = [
  "e2e/cluster.test.ts",
  "e2e/hostile.test.ts",
  "e2e/lab.test.ts",
  "e2e/threads-runtimes.test.ts",
  "integration/api-server.test.ts",
  "integration/chart-cluster.test.ts",
  "integration/controller-frozen.test.ts",
  "integration/sidecar-session-end.test.ts",
  "integration/terminal-local.test.ts",
];

/** Sorts as vitest does, but the longest first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((end) => moduleId.endsWith(end));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
