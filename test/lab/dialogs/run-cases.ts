import type { AgentKind } from "../../support/agents/agents-home.ts";
import { DialogBed } from "./dialog-bed.ts";
import { type AnswerKind, type DialogCase, dialogCase } from "./dialog-case.ts";
import type { CaseResult } from "./judge-case.ts";
import { runCase } from "./run-case.ts";

export interface RunCasesOptions {
  readonly agent: AgentKind;
  readonly seed: number;
  /** The number of the first case. */
  readonly from: number;
  readonly count: number;
  /** Only this kind of answer. */
  readonly only?: string | undefined;
  /** The ids of the cases of earlier runs, which are skipped. */
  readonly done: ReadonlySet<string>;
  readonly sidecarProgram?: string;
  readonly signal: AbortSignal;
  readonly onResult: (result: CaseResult) => void;
  readonly onTrouble: (text: string) => void;
  readonly onScreen?: ((text: string) => void) | undefined;
}

/**
 * The number of cases after which the agent is started again; it also restarts after an answer that changes how it
 * asks.
 */
const CASES_PER_LIFE = 25;
const CHANGES_MODE: ReadonlySet<AnswerKind> = new Set(["auto", "always"]);
/** The limit of consecutive lives that end in trouble. */
const MOST_TROUBLES = 5;

/** Runs the cases one after the other in one agent, which is replaced when it cannot continue. */
export async function runCases(options: RunCasesOptions): Promise<void> {
  const left = casesOf(options);
  let troubles = 0;
  while (left.length > 0 && troubles < MOST_TROUBLES) {
    options.signal.throwIfAborted();
    const before = left.length;
    try {
      await runLife(options, left);
    } catch (err) {
      options.signal.throwIfAborted();
      options.onTrouble(`${left[0]?.id}: ${err instanceof Error ? err.message : String(err)}`);
      left.push(...left.splice(0, 1));
    }
    troubles = left.length < before ? 0 : troubles + 1;
  }
}

function casesOf({ agent, seed, from, count, only, done }: RunCasesOptions): DialogCase[] {
  return Array.from({ length: count }, (_, i) => dialogCase(agent, seed, from + i)).filter(
    (one) => !done.has(one.id) && (only === undefined || one.answer === only),
  );
}

async function runLife(options: RunCasesOptions, left: DialogCase[]): Promise<void> {
  const [first] = left;
  if (first === undefined) return;
  await using bed = await DialogBed.start(first, options.sidecarProgram);
  for (let run = 0; run < CASES_PER_LIFE; run += 1) {
    const [one] = left;
    if (one === undefined || one.size.join() !== first.size.join()) return;
    options.signal.throwIfAborted();
    options.onResult(await runCase(bed, one, (screen) => options.onScreen?.(screen)));
    left.shift();
    if (needsNewAgent(one) || !(await bed.settle())) return;
  }
}

const needsNewAgent = ({ agent, answer }: DialogCase): boolean => agent === "claude" && CHANGES_MODE.has(answer);
