import type { ProcessFacts } from "../../process/process-facts.ts";

/** A message from the serving half to the supervising one; one JSON object a line. */
export type ControlMessage =
  /** The event loop turns. */
  | { readonly type: "alive" }
  /** It is serving: it has read its journal and listens on its addresses. */
  | { readonly type: "serving" }
  /** End the agent; 0 ms: with the grace time of the supervising half. */
  | { readonly type: "stop"; readonly graceMs: number; readonly force: boolean }
  /** The agent has ended permanently: exit with this code. */
  | { readonly type: "finish"; readonly exitCode: number }
  /** The agent's process, from now on. */
  | { readonly type: "agent"; readonly pid: number }
  /** The server and its session must be recreated. */
  | { readonly type: "renew" }
  /** Asks for the fate of the session of the agent with that pid, see `SessionRescue.settle`. */
  | { readonly type: "session"; readonly id: number; readonly pid: number }
  /** Asks how many processes beside the agent the kernel has killed for lack of memory. */
  | { readonly type: "oom-kills"; readonly id: number }
  /**
   * Asks about a process beside the agent; `work`, `files`: also about the work and the open files of it and its
   * descendants.
   */
  | {
      readonly type: "process";
      readonly id: number;
      readonly pid: number;
      readonly work: boolean;
      readonly files: boolean;
    };

/** `there`: the agent's pane exists, under the session's name again; `gone`: the tmux server has no such pane. */
export type SessionFate = "there" | "gone";

/** The answer to a question, on the question's connection. */
export interface ControlAnswer extends ProcessFacts {
  readonly id: number;
  readonly session?: SessionFate | undefined;
  readonly oomKills?: number | undefined;
}

export type ControlQuestion = Extract<ControlMessage, { readonly id: number }>;

/**
 * The first line on each connection, sent again when more is known: facts that the serving half cannot look up by
 * itself.
 */
export interface ControlHello {
  readonly type: "hello";
  /** Version of tmux, e.g. `3.3a`. */
  readonly tmux: string;
  /** Changes with each agent that a supervising half starts, and stays over restarts of that agent's program. */
  readonly agentId: string;
  /** Version of the agent program; absent while it is not known. */
  readonly agent?: string | undefined;
}

/** Undefined for anything that is not a message: the agent shares the folder, so it may write here. */
export function parseControlMessage(line: string): ControlMessage | undefined {
  const value = parse(line);
  const { type, graceMs, force, exitCode, id, pid, work, files } = value ?? {};
  if (type === "alive" || type === "serving") return { type };
  if (type === "stop" && isCount(graceMs)) return { type, graceMs, force: force === true };
  if (type === "finish" && isCount(exitCode) && exitCode <= 255) return { type, exitCode };
  if (type === "renew") return { type };
  if (type === "agent" && isCount(pid) && pid > 0) return { type, pid };
  if (type === "session" && isCount(id) && isCount(pid) && pid > 0) return { type, id, pid };
  if (type === "oom-kills" && isCount(id)) return { type, id };
  if (type === "process" && isCount(id) && isCount(pid) && pid > 0)
    return { type, id, pid, work: work === true, files: files === true };
  return undefined;
}

const VERSION = /^[A-Za-z0-9.+-]{1,32}$/;
const FILE_NAME = /^[A-Za-z0-9._-]{1,128}$/;
const AGENT_ID = /^[A-Za-z0-9-]{1,64}$/;

/** Undefined for anything that is not an answer: the agent may listen in the supervising half's place. */
export function parseControlAnswer(line: string): ControlAnswer | ControlHello | undefined {
  const { type, tmux, agentId, agent, id, startTicks, work, files, session, oomKills } = parse(line) ?? {};
  if (type === "hello" && isLike(VERSION, tmux) && isLike(AGENT_ID, agentId))
    return { type, tmux, agentId, agent: isLike(VERSION, agent) ? agent : undefined };
  if (!isCount(id)) return undefined;
  const { cpuMs, writtenBytes } = isObject(work) ? work : {};
  return {
    id,
    session: session === "there" || session === "gone" ? session : undefined,
    oomKills: isCount(oomKills) ? oomKills : undefined,
    startTicks: isCount(startTicks) ? startTicks : undefined,
    work: isCount(cpuMs) && isCount(writtenBytes) ? { cpuMs, writtenBytes } : undefined,
    files: Array.isArray(files) ? files.filter((name) => isLike(FILE_NAME, name)) : undefined,
  };
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isLike(pattern: RegExp, value: unknown): value is string {
  return typeof value === "string" && pattern.test(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
