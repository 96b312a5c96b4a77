import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import type { Task } from "../../internal/base/task-group.ts";
import type { HalfAgent } from "../../internal/desk/tools/half-agent.ts";
import { reader } from "../../internal/desk/tools/reader.ts";
import { readVariables } from "./agent-program.ts";
import type { AgentSetup } from "./launch-agent.ts";

export interface AgentOfHalf extends Omit<AgentSetup, "agent" | "program" | "credentials"> {
  readonly agent: AgentSetup["agent"] | "reader";
  /** The file of a real agent's program. */
  readonly program: string | undefined;
  /** The file with its credentials. */
  readonly credentials: string | undefined;
  /** `/admin` or `/docs`. */
  readonly prefix: string;
  readonly instructions: string;
  readonly sessions: () => number;
}

/** An agent that can be asked while its tasks run. */
export interface OpenAgent extends AsyncDisposable {
  readonly agent: HalfAgent;
  readonly tasks: readonly Task[];
  /** Asks a real agent one question, in a session without tools or history; returns the model's words. */
  readonly ask?: (text: string, signal: AbortSignal) => Promise<string>;
}

/** Opens the agent of a half; the code for a real one is loaded only here. @throws DomainError `unavailable` */
export async function openAgent(half: AgentOfHalf): Promise<OpenAgent> {
  const { agent, program, prefix, sessions, instructions } = half;
  if (agent === "reader" || program === undefined) {
    return { agent: reader, tasks: [], [Symbol.asyncDispose]: async () => {} };
  }
  const [{ Door }, { AgentSessions }, { askOnce }, { launchAgent, releaseAgent, SESSION_OPTIONS }] = await Promise.all([
    import("../../internal/desk/tools/door.ts"),
    import("../../internal/desk/tools/agent-sessions.ts"),
    import("../../internal/desk/tools/desk-agent.ts"),
    import("./launch-agent.ts"),
  ]);
  const setup = { ...half, agent, program, credentials: readVariables(half.credentials) };
  const door = new Door(
    { clock: systemClock, logger: createLogger("desk", "warn") },
    { host: "127.0.0.1", port: 0, prefix },
  );
  const setting = {
    ...{ cwd: half.cwd, options: SESSION_OPTIONS[agent] },
    providerOf: (launch: Parameters<typeof launchAgent>[1]) => launchAgent(setup, launch),
    release: (id: string) => releaseAgent(setup, id),
  };
  const running = new AgentSessions({ ...setting, door, instructions }, sessions);
  return {
    ...{ agent: running, tasks: [door] },
    ask: (text, signal) => askOnce(setting, text, signal),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}
