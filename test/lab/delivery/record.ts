import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import type { RunFacts } from "../../../bench/report/run-report.ts";
import type { CrashFigures } from "./crash.ts";
import type { CrowdFigures } from "./crowd.ts";
import type { FreezeFigures } from "./freeze.ts";
import type { LineFigures } from "./lines.ts";
import type { Sample } from "./send.ts";

/** One event of a run; a record is a file with one event a line, so that an interrupted run keeps its findings. */
export type LabEvent =
  | { readonly type: "run"; readonly facts: RunFacts; readonly seed: number }
  | { readonly type: "start"; readonly target: string }
  | { readonly type: "sample"; readonly sample: Sample }
  | { readonly type: "trouble"; readonly target: string; readonly text: string }
  | { readonly type: "missing"; readonly target: string; readonly text: string }
  | { readonly type: "crash"; readonly figures: CrashFigures }
  | { readonly type: "freeze"; readonly figures: FreezeFigures }
  | { readonly type: "lines"; readonly figures: LineFigures }
  | { readonly type: "crowd"; readonly figures: CrowdFigures };

/** The part of a message's text that is kept, in code units. */
const KEPT_TEXT = 120;

/** Collects events, and appends each to the file at once if there is one. */
export class LabRecord {
  readonly events: LabEvent[] = [];
  readonly #file: string | undefined;

  /** `append`: the file's events of an earlier run are kept, and count. */
  constructor(file: string | undefined, append = false) {
    this.#file = file;
    if (file === undefined) return;
    if (append && existsSync(file)) this.events.push(...readRecords([file]));
    else writeFileSync(file, "");
  }

  add(event: LabEvent): void {
    const kept = event.type === "sample" ? { ...event, sample: shortened(event.sample) } : event;
    this.events.push(kept);
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(kept)}\n`);
  }
}

/** The events in the records of earlier runs. */
export function readRecords(files: readonly string[]): readonly LabEvent[] {
  return files.flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as LabEvent),
  );
}

function shortened(sample: Sample): Sample {
  return { ...sample, message: sample.message.slice(0, KEPT_TEXT).toWellFormed() };
}
