import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take minutes, by their path's end: begun last, one of them would keep all the other cores waiting. */
const LONGEST = [
  "e2e/cluster.test.ts",
  "e2e/hostile.test.ts",
  "e2e/lab.test.ts",
  "integration/sidecar-session-end.test.ts",
];

/** As vitest sorts them, the longest first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((end) => moduleId.endsWith(end));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
