import { parseDurationMs } from "../../internal/base/duration.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { parseFlags } from "../../internal/cli/flags.ts";
import { nearestName } from "../../internal/cli/nearest-name.ts";
import type { Part } from "../../internal/demo/conversation.ts";
import { type DemoOptions, type Faults, noFaults } from "../../internal/demo/options.ts";
import type { OutsidePaths } from "../../internal/demo/outside.ts";

export const help = `A small terminal program that behaves like a coding agent but does no work: for demonstrations and tests.

Usage: demo-agent [flags]

  --seed N             the same seed gives the same steps and answers (1)
  --turn-ms N          length of a turn, in milliseconds (2500)
  --steps N            tool steps in a turn (3)
  --alternate-screen   draw on the alternate screen
  --trust-dialog       ask for trust in the folder first
  --threads PART       take part in threads when it is woken for a message: review or fix, by script
  --stdio              use no terminal: read messages and answers as JSON lines, and write its actions as JSON lines
  --log FILE           append one JSON line for each accepted message
  --tool-log FILE      append the commands that a real agent would have run
  --faults LIST        misbehave on purpose, comma separated:
                         drop-first-enter  echo-delay=MS  no-bracketed-paste  flicker-idle=MS
                         exit-on=TEXT  exit-code=N  hang-on=TEXT  eat-enter-after-paste=MS
                         open-dialog-on-paste  spinner-always  slow-start=MS  garbage
  --help, --version

Environment: GT_HOOK_FIFO (where hook lines are written), GT_HOOK_DIR (where prompt texts are stored), GT_THREADS and
GT_THREADS_TOKEN_FILE (the server of threads, and the file with its token).

Examples:
  demo-agent --seed 7 --turn-ms 400
  demo-agent --log /tmp/taken.jsonl --faults drop-first-enter,echo-delay=200
`;

export interface DemoConfig {
  readonly ask?: "help" | "version";
  readonly options: DemoOptions;
  readonly paths: OutsidePaths;
  /** The part to play in threads. */
  readonly threads: Part | undefined;
  /** Speak JSON lines instead of drawing. */
  readonly stdio: boolean;
}

const specs = {
  seed: { type: "number" },
  "turn-ms": { type: "number" },
  steps: { type: "number" },
  "alternate-screen": { type: "boolean" },
  "trust-dialog": { type: "boolean" },
  stdio: { type: "boolean" },
  threads: { type: "string" },
  log: { type: "string" },
  "tool-log": { type: "string" },
  faults: { type: "list" },
} as const;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Apply = (faults: Mutable<Faults>, value: string) => void;

const FAULTS: Readonly<Record<string, { readonly takesValue: boolean; readonly apply: Apply }>> = {
  "drop-first-enter": flag((faults) => (faults.dropFirstEnter = true)),
  "echo-delay": value((faults, text) => (faults.echoDelayMs = milliseconds("echo-delay", text))),
  "no-bracketed-paste": flag((faults) => (faults.noBracketedPaste = true)),
  "flicker-idle": value((faults, text) => (faults.flickerIdleMs = milliseconds("flicker-idle", text))),
  "exit-on": value((faults, text) => (faults.exitOn = text)),
  "exit-code": value((faults, text) => (faults.exitCode = exitCode(text))),
  "hang-on": value((faults, text) => (faults.hangOn = text)),
  "eat-enter-after-paste": value(
    (faults, text) => (faults.eatEnterAfterPasteMs = milliseconds("eat-enter-after-paste", text)),
  ),
  "open-dialog-on-paste": flag((faults) => (faults.openDialogOnPaste = true)),
  "spinner-always": flag((faults) => (faults.spinnerAlways = true)),
  "slow-start": value((faults, text) => (faults.slowStartMs = milliseconds("slow-start", text))),
  garbage: flag((faults) => (faults.garbage = true)),
};

/** Reads flags and environment. @throws DomainError `invalid`. */
export function readConfig(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): DemoConfig {
  const { ask, values, positionals } = parseFlags(specs, argv, env);
  if (positionals[0] !== undefined) throw new DomainError("invalid", `unexpected argument "${positionals[0]}"`);
  const options: DemoOptions = {
    seed: values.seed ?? 1,
    turnMs: atLeast("--turn-ms", values["turn-ms"] ?? 2500, 0),
    steps: atLeast("--steps", values.steps ?? 3, 0),
    alternateScreen: values["alternate-screen"] ?? false,
    trustDialog: values["trust-dialog"] ?? false,
    faults: readFaults((values.faults ?? []).flatMap((list) => list.split(","))),
  };
  const paths: OutsidePaths = {
    log: values.log,
    toolLog: values["tool-log"],
    hookFifo: env["GT_HOOK_FIFO"] || undefined,
    hookDir: env["GT_HOOK_DIR"] || undefined,
  };
  const stdio = values.stdio ?? false;
  const config = { options, paths, stdio, threads: partOf(values.threads) };
  return ask === undefined ? config : { ask, ...config };
}

function partOf(text: string | undefined): Part | undefined {
  if (text === undefined || text === "review" || text === "fix") return text;
  throw new DomainError("invalid", `--threads is review or fix, not "${text}"`);
}

function readFaults(list: readonly string[]): Faults {
  const faults: Mutable<Faults> = { ...noFaults };
  for (const item of list.filter((text) => text !== "")) {
    const at = item.indexOf("=");
    const name = at < 0 ? item : item.slice(0, at);
    const fault = FAULTS[name];
    if (fault === undefined) throw unknownFault(name);
    if (fault.takesValue !== at >= 0) {
      throw new DomainError("invalid", `fault ${name} ${fault.takesValue ? "needs" : "takes no"} =VALUE`);
    }
    fault.apply(faults, item.slice(at + 1));
  }
  return faults;
}

function unknownFault(name: string): DomainError {
  const nearest = nearestName(name, Object.keys(FAULTS));
  const hint = nearest === undefined ? "--help lists the faults" : `did you mean ${nearest}?`;
  return new DomainError("invalid", `unknown fault "${name}"`, { fields: { hint } });
}

function flag(set: (faults: Mutable<Faults>) => void) {
  return { takesValue: false, apply: set };
}

function value(apply: Apply) {
  return { takesValue: true, apply };
}

function milliseconds(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  try {
    return parseDurationMs(text);
  } catch {
    throw new DomainError("invalid", `fault ${name} needs milliseconds, not "${text}"`);
  }
}

function exitCode(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) {
    throw new DomainError("invalid", `fault exit-code needs 0 to 255, not "${text}"`);
  }
  return Number(text);
}

function atLeast(name: string, number: number, least: number): number {
  if (number < least) throw new DomainError("invalid", `${name} is at least ${least}, not ${number}`);
  return number;
}
