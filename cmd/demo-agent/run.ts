import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { DomainError } from "../../internal/base/errors.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { DemoAgent } from "../../internal/demo/agent.ts";
import type { Part } from "../../internal/demo/conversation.ts";
import { FileOutside, type Outside } from "../../internal/demo/outside.ts";
import { StdioAgent } from "../../internal/demo/stdio-agent.ts";
import { ProcessTerminal, type Terminal } from "../../internal/demo/terminal.ts";
import { TornTerminal } from "../../internal/demo/torn-terminal.ts";
import type { DemoConfig } from "./config.ts";

/**
 * Runs the agent until it is asked to end; returns the exit code. @throws DomainError `precondition` if it needs a
 * terminal and has none
 */
export async function run(config: DemoConfig, context: CommandContext): Promise<number> {
  const { stdin, stdout, signal, clock } = context;
  const { threads, session = randomUUID() } = config;
  const files = new FileOutside(config.paths, { process: String(process.pid), session });
  const outside = threads === undefined ? files : await threadWork(files, threads, context);
  if (config.stdio) {
    const write = (text: string) => stdout.write(text);
    const lines = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
    return new StdioAgent({ lines, write, outside, clock, session }, config.options).run(signal);
  }
  if (!stdin.isTTY || !stdout.isTTY) {
    const hint = "start it in a terminal, or as a sidecar's agent: gt-sidecar --agent demo";
    throw new DomainError("precondition", "the demo agent needs a terminal", { fields: { hint } });
  }
  const agent = new DemoAgent({ terminal: terminalOf(context, config.options), outside, clock }, config.options);
  return agent.run(signal);
}

/** Loads the client of threads, which is most of the program's code, only for an agent that plays a part in threads. */
async function threadWork(files: Outside, part: Part, { env, clock, signal }: CommandContext): Promise<Outside> {
  const { ThreadWork, threadsCall } = await import("./thread-work.ts");
  return new ThreadWork(files, part, { call: threadsCall(env, clock), clock, signal });
}

function terminalOf({ stdin, stdout }: CommandContext, { seed, faults }: DemoConfig["options"]): Terminal {
  const whole = new ProcessTerminal(stdin, stdout);
  const { tornDrawingMs } = faults;
  return tornDrawingMs === 0 ? whole : new TornTerminal(whole, seed, () => block(tornDrawingMs));
}

/** Blocks the whole process. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
