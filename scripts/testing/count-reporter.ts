import { writeFileSync } from "node:fs";
import type { SerializedError } from "vitest";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { type Counts, none, plus } from "./counts.ts";

const PROGRESS_MS = 15_000;

/**
 * Every 15 seconds, prints the tests that have been running for at least that long. At the end, prints why tests were
 * skipped, and writes the counts of the vitest run as JSON into the file named by GT_TEST_COUNTS. Each failure outside
 * a test (a file that does not load, a hook of a file, a stray rejection) counts as one failed test.
 */
export default class CountReporter implements Reporter {
  readonly #running = new Map<string, { readonly name: string; readonly since: number }>();
  #timer: NodeJS.Timeout | undefined;

  onTestRunStart(): void {
    this.#armProgress();
  }

  onTestCaseReady(test: TestCase): void {
    this.#running.set(test.id, { name: `${test.module.relativeModuleId} > ${test.name}`, since: performance.now() });
  }

  onTestCaseResult(test: TestCase): void {
    this.#running.delete(test.id);
  }

  onTestRunEnd(modules: readonly TestModule[], stray: readonly SerializedError[]): void {
    clearTimeout(this.#timer);
    for (const [note, count] of skipNotes(modules)) console.log(`skipped ${count}: ${note}`);
    const path = process.env["GT_TEST_COUNTS"];
    if (path === undefined) return;
    const total = modules.map(countsOf).reduce(plus, none);
    writeFileSync(path, JSON.stringify(plus(total, { ...none, failed: stray.length })));
  }

  #armProgress(): void {
    this.#timer = setTimeout(() => {
      const now = performance.now();
      for (const { name, since } of this.#running.values()) {
        if (now - since >= PROGRESS_MS) console.log(`   … ${name} (${Math.round((now - since) / 1000)} s)`);
      }
      this.#armProgress();
    }, PROGRESS_MS).unref();
  }
}

/** The reasons why tests were skipped, with the number of tests for each. */
function skipNotes(modules: readonly TestModule[]): ReadonlyMap<string, number> {
  const notes = new Map<string, number>();
  for (const module of modules) {
    for (const test of module.children.allTests("skipped")) {
      const result = test.result();
      const note = (result.state === "skipped" && result.note) || "no reason given";
      notes.set(note, (notes.get(note) ?? 0) + 1);
    }
  }
  return notes;
}

function countsOf(module: TestModule): Counts {
  let counts: Counts = { ...none, failed: module.errors().length };
  for (const suite of module.children.allSuites()) {
    counts = plus(counts, { ...none, failed: suite.errors().length });
  }
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    counts = plus(counts, {
      passed: state === "passed" ? 1 : 0,
      failed: state === "failed" || state === "pending" ? 1 : 0,
      skipped: state === "skipped" ? 1 : 0,
    });
  }
  return counts;
}
