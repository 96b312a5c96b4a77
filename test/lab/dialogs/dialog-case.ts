import { seeded } from "../../../bench/stats.ts";
import type { AgentKind } from "../../support/agents/agents-home.ts";
import { hostileLine, hostileLines } from "./hostile-texts.ts";

/** The kind of the given answer: a kind of choice that the program draws. */
export type AnswerKind = "once" | "always" | "auto" | "refuse" | "option" | "text" | "chat";

interface DialogQuestion {
  readonly question: string;
  readonly header: string;
  readonly options: readonly { readonly label: string; readonly description: string }[];
}

/** The fake model's request, and the answer to it. */
export interface DialogCase {
  readonly id: string;
  readonly agent: AgentKind;
  readonly answer: AnswerKind;
  /** Columns and rows of the terminal. */
  readonly size: readonly [cols: number, rows: number];
  readonly ask: /** `program`: a file in the working folder, which writes its name into `ran.log`. */
    | { readonly type: "command"; readonly command: string; readonly reason: string; readonly program: string }
    | { readonly type: "write"; readonly file: string; readonly content: string }
    /** `wanted`: the option to take. */
    | { readonly type: "question"; readonly question: DialogQuestion; readonly wanted: string };
}

/** The kinds of choice that each program draws. */
export const ANSWERS: Readonly<Record<AgentKind, readonly AnswerKind[]>> = {
  claude: ["once", "refuse", "always", "option", "text", "chat", "auto"],
  codex: ["once", "refuse", "always"],
  opencode: ["once", "refuse", "always", "option", "text"],
};

const SIZES: readonly DialogCase["size"][] = [
  [160, 50],
  [100, 40],
  [160, 50],
  [80, 24],
  [200, 60],
];
/** This many consecutive cases have the same size. */
const SAME_SIZE = 20;

/** The case with this number: the same each time, independent of earlier cases. */
export function dialogCase(agent: AgentKind, seed: number, index: number): DialogCase {
  const random = seeded(seed * 1_000_003 + index * 7919 + agent.length);
  for (let i = 0; i < 5; i += 1) random();
  const answer = ANSWERS[agent][index % ANSWERS[agent].length] ?? "once";
  const id = `${agent}-${seed}-${index}`;
  const size = SIZES[Math.floor(index / SAME_SIZE) % SIZES.length] ?? [160, 50];
  return { id, agent, answer, size, ask: askFor(id, agent, answer, random) };
}

function askFor(id: string, agent: AgentKind, answer: AnswerKind, random: () => number): DialogCase["ask"] {
  if (answer === "option" || answer === "text" || answer === "chat") return questionFor(random);
  const writes = agent !== "codex" && answer !== "always" && answer !== "auto" && random() < 0.2;
  if (writes) return { type: "write", file: `file-${id}.txt`, content: `${hostileLines(random, 30).join("\n")}\n` };
  // A different program each time: a lasting permission must not cover the next case.
  const program = `ran-${id}`;
  return { type: "command", command: commandFor(`./${program}`, random), reason: reasonFor(random), program };
}

/** A shell command that runs a program and quotes dialogs in places that the shell ignores. */
function commandFor(run: string, random: () => number): string {
  const [form, lines] = [random(), hostileLines(random, random() < 0.15 ? 60 : 9)];
  const quoted = lines.map((line) => line.replaceAll("'", "’")).join("\n");
  if (form < 0.25) return `${run} # ${hostileLine(random)}`;
  if (form < 0.5) return `${run}\n: '${quoted}'`;
  if (form < 0.75) return `: '${quoted}'\n${run}`;
  return `${run}\ncat > /dev/null <<'END-OF-IT'\n${quoted}\nEND-OF-IT`;
}

const reasonFor = (random: () => number): string =>
  random() < 0.5 ? "Runs the command that was asked for" : hostileLines(random, 3).join(random() < 0.5 ? "\n" : " ");

function questionFor(random: () => number): DialogCase["ask"] {
  const labels = new Set<string>();
  const wantedCount = 2 + Math.floor(random() * 3);
  while (labels.size < wantedCount) {
    const rows =
      random() < 0.1 ? hostileLines(random, 3).map((row) => row.slice(0, 60)) : [hostileLine(random).slice(0, 40)];
    labels.add(`${rows.join("\n").trim()} ${labels.size}`);
  }
  const options = [...labels].map((label) => ({
    label,
    description: random() < 0.5 ? "like the hedge" : hostileLines(random, 3).join(random() < 0.5 ? "\n" : " "),
  }));
  const question = {
    question: `${hostileLines(random, random() < 0.2 ? 20 : 4).join("\n")}\nWhich one?`,
    header: hostileLine(random).slice(0, 11),
    options,
  };
  return { type: "question", question, wanted: options[Math.floor(random() * options.length)]?.label ?? "" };
}
