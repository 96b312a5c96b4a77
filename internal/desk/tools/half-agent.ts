import type { FileTool } from "./file-tool.ts";

/** One earlier turn of a conversation, as its agent may know it. */
export interface PastTurn {
  readonly input: string;
  /** The input came from the administrator, over the bridge. */
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
  /** @throws DomainError `unavailable`, with `reason` = `agent unavailable` */
  answer(turn: AgentTurn): Promise<string>;
  /** Drops what it remembers of a thread that has no turn. */
  forget(thread: string): void;
}
