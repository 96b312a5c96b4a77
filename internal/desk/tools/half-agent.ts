import type { FileTool } from "./file-tool.ts";

/** An earlier turn of a conversation, with the fields that its agent may know. */
export interface PastTurn {
  readonly input: string;
  /** True if the input came from the administrator, over the bridge. */
  readonly isBriefing: boolean;
  readonly answer: string;
}

/** The input of one turn of an agent. */
export interface AgentTurn {
  readonly thread: string;
  readonly input: string;
  readonly isBriefing: boolean;
  /** Oldest first. */
  readonly history: readonly PastTurn[];
  readonly files: FileTool;
  readonly signal: AbortSignal;
}

/** The agent of one half. */
export interface HalfAgent {
  /** @throws DomainError `unavailable`, with `reason` = `agent unavailable`; any error once `turn.signal` is aborted */
  answer(turn: AgentTurn): Promise<string>;
  /** Forgets a thread, which must have no running turn. */
  forget(thread: string): void;
}
