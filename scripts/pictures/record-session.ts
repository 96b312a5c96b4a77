import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { gtInTerminal } from "../../test/support/bridge/gt-transcript.ts";
import { startSidecar } from "../../test/support/sidecar/sidecar.ts";

/** A command as a person types it, and its output in a terminal, line by line, with styles. */
export interface CommandScene {
  readonly command: string;
  readonly lines: readonly string[];
}

/** The size of the terminal in which the commands run. */
export const COLUMNS = 92;
const ROWS = 40;

const ADDRESS = "town/polecats/toast";
const { IDLE, DIALOG } = AgentState;

/**
 * A message that is submitted, a look at the screen, a message that leads to a dialog, a message that the dialog holds
 * back, and the answer to the dialog.
 */
const STEPS: readonly { readonly args: readonly string[]; readonly until?: number }[] = [
  { args: ["nudge", "toast", "the login test fails since Monday, can you look?"], until: IDLE },
  { args: ["peek", "toast", "7"] },
  { args: ["nudge", "toast", "run: npm publish"], until: DIALOG },
  { args: ["nudge", "toast", "and add a changelog entry"] },
  { args: ["respond", "toast", "no"] },
];

/** Runs these commands of `gt` against a real sidecar with the demo agent. */
export async function recordSession(): Promise<readonly CommandScene[]> {
  await using sidecar = await startSidecar({ address: ADDRESS, flags: ["--cols", "80", "--rows", "24"] });
  await sidecar.untilState(IDLE);
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: sidecar.dir,
    LANG: "C.UTF-8",
    XDG_RUNTIME_DIR: sidecar.runtimeDir,
  };
  const scenes: CommandScene[] = [];
  for (const { args, until } of STEPS) {
    await using terminal = gtInTerminal(args, env, COLUMNS, ROWS);
    await terminal.exited;
    const lines = terminal.seen().replaceAll("\r\n", "\n").replace(/\n$/, "").split("\n");
    scenes.push({ command: ["gt", ...args.map(quoted)].join(" "), lines });
    if (until !== undefined) await sidecar.untilState(until);
  }
  return scenes;
}

/**
 * The scenes reduced to the parts that are equal in every run: without evidence, whose order differs, and with
 * placeholders for ids and amounts.
 * @internal
 */
export function comparableScenes(scenes: readonly CommandScene[]): readonly CommandScene[] {
  return scenes.map(({ command, lines }) => ({
    command,
    lines: lines.filter((line) => !EVIDENCE.test(line)).map((line) => line.replace(UUID, "ID").replace(AMOUNT, "N")),
  }));
}

const EVIDENCE = /(proof|strong|weak)[:,]|evidence/;
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const AMOUNT = /[\d.]*\d( (ms|s|min))?/g;

function quoted(argument: string): string {
  return /^[\w./-]+$/.test(argument) ? argument : JSON.stringify(argument);
}
