import { DomainError } from "../../../internal/base/errors.ts";
import { parseFlags } from "../../../internal/cli/flags.ts";
import { TARGETS, type Target } from "./targets.ts";

export interface LabOptions {
  readonly targets: readonly Target[];
  readonly sends: number;
  /** The number of sends, or freezes, after which an agent is started again; undefined: 50 and 25. */
  readonly life: number | undefined;
  readonly seconds: number;
  readonly seed: number;
  readonly parallel: number;
  readonly only: string;
  /** No message has a short ttl or is cancelled. */
  readonly patient: boolean;
  /** The targets whose serving half is killed, the number of these kills, and the number of kills of the whole tree. */
  readonly crashTargets: readonly Target[];
  readonly crashes: number;
  readonly treeCrashes: number;
  /** The number of concurrent callers of each target, in each mode. */
  readonly crowd: number;
  /** The number of freezes of each known program, and of lines in many scripts that are pasted and removed again. */
  readonly freezes: number;
  readonly lines: number;
  /** Continues the run whose record `json` is. */
  readonly resume: boolean;
  readonly json: string | undefined;
  /** Records of earlier runs to report on; then no messages are sent. */
  readonly merge: readonly string[] | undefined;
  readonly write: boolean;
}

export const help = `Sends messages of every kind to real agents and to misbehaving programs, in every state, and compares each receipt with what
the program received. Exits 1 if a receipt is wrong.

Usage: npm run lab -- [flags]

  --agents LIST    programs (all): ${TARGETS.map((target) => target.name).join(", ")}
                   or the groups real, demo, tui
  --sends N        messages to each program (100)
  --seconds N      approximate duration of the whole run; real agents get the larger share (600)
  --only WORDS     only the kinds of messages and the states whose names contain one of these words: "idle", "idle,mixed".
                   "safe": messages that are special to no program
  --patient        gives no message a short time to live and cancels none: an idle agent has to receive each safe one
  --life N         messages, or freezes, before an agent is restarted (50 and 25)
  --seed N         seed of the messages, states and modes (1)
  --parallel N     programs at the same time (2)
  --crash N        then kills the serving half (SIGKILL) at N random instants of deliveries
  --crash-agents L programs for --crash (demo:plain)
  --crash-tree N   kills the sidecar with all its processes N times
  --crowd N        sends to each program from N callers at once, at most 50
  --freeze N       freezes each agent N times at random instants of deliveries, for 0.1 to 20 s; needs a cgroup
  --lines N        pastes N lines in many scripts into each agent's composer, which must recognise and remove each
  --resume         continues the run of the same flags that is recorded in --json FILE
  --json FILE      writes each message with its receipt and what arrived, one per line
  --merge FILES    sends nothing; reports on the records of earlier runs, separated by commas
  --write          stores the report in bench/results and regenerates bench/RESULTS.md

Examples:
  npm run lab -- --agents claude-2.1.330,codex-0.169.0 --sends 250
  npm run lab -- --agents demo --only dialog --seconds 60
  npm run lab -- --sends 0 --crash 60 --crash-tree 5
  npm run lab -- --agents real --only idle,safe --patient --sends 1100 --seconds 36000
  npm run lab -- --agents real --sends 1000 --seconds 36000 --freeze 300 --lines 5000 --json real.jsonl --resume
  npm run lab -- --merge real.jsonl,tui.jsonl --write
`;

const specs = {
  agents: { type: "list" },
  sends: { type: "number" },
  seconds: { type: "number" },
  only: { type: "string" },
  patient: { type: "boolean" },
  life: { type: "number" },
  seed: { type: "number" },
  parallel: { type: "number" },
  crash: { type: "number" },
  "crash-agents": { type: "list" },
  "crash-tree": { type: "number" },
  crowd: { type: "number" },
  freeze: { type: "number" },
  lines: { type: "number" },
  resume: { type: "boolean" },
  json: { type: "string" },
  merge: { type: "list" },
  write: { type: "boolean" },
} as const;

/** @throws DomainError `invalid` */
export function readOptions(argv: readonly string[]): LabOptions | "help" {
  const { ask, values } = parseFlags(specs, argv, {});
  if (ask !== undefined) return "help";
  return {
    targets: values.agents === undefined ? TARGETS : targetsIn(values.agents),
    crashTargets: targetsIn(values["crash-agents"] ?? ["demo:plain"]),
    sends: values.sends ?? 100,
    seconds: values.seconds ?? 600,
    life: values.life,
    seed: values.seed ?? 1,
    parallel: values.parallel ?? 2,
    only: values.only ?? "",
    patient: values.patient ?? false,
    crashes: values.crash ?? 0,
    treeCrashes: values["crash-tree"] ?? 0,
    crowd: values.crowd ?? 0,
    freezes: values.freeze ?? 0,
    lines: values.lines ?? 0,
    resume: values.resume ?? false,
    json: values.json,
    merge: values.merge?.flatMap((list) => list.split(",")),
    write: values.write ?? false,
  };
}

function targetsIn(lists: readonly string[]): readonly Target[] {
  return [...new Set(lists.flatMap((list) => list.split(",")).flatMap(targetsNamed))];
}

/** The target with this name; else all targets of the group. */
function targetsNamed(name: string): readonly Target[] {
  const found = TARGETS.filter((target) => target.name === name || target.kind === name);
  if (found.length > 0) return found;
  throw new DomainError("invalid", `no program "${name}" to send to`, { fields: { hint: "--help lists them" } });
}
