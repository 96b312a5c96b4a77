import type { Command } from "../common/command/command.ts";

/** `gt --help`. */
export function overview(commands: readonly Command[]): string {
  const rows = commands.map(({ name, help }) => [`gt ${name} ${help.usage}`.trimEnd(), help.summary] as const);
  const width = Math.max(...rows.map(([call]) => call.length));
  const list = rows.map(([call, summary]) => `  ${call.padEnd(width)}   ${summary}`).join("\n");
  return [INTRODUCTION, `Usage:\n${list}`, ADDRESSES, EXAMPLES, EXIT_CODES].join("\n\n").concat("\n");
}

const INTRODUCTION = "gt looks at coding agents and talks to them, near or far.";

const ADDRESSES = `An agent is rig/name, rig/polecats/name, rig/crew/name, rig/witness, rig/refinery, mayor, deacon, boot, or a
name alone where that is enough.`;

const EXAMPLES = `Examples:
  gt peek gastown/toast 20
  gt nudge gastown/toast "run the tests again, please"
  gt status
  gt watch mayor --host 10.0.3.7 --port 9090 --tls-dir ~/.gt/tls`;

const EXIT_CODES = `Exit codes: 0 done, 2 usage, 3 no such agent, 4 unreachable or not trusted, 5 queued and not yet delivered,
or not reached in time, 6 refused, 7 delivered without proof, 1 a bug or an output that cannot be written.`;
