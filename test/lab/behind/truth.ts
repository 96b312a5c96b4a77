import type { ModelSpan } from "../../fakes/model-server.ts";
import { type Turn, turnsOf } from "../phases/truth.ts";

/** A task that an agent started and that continued behind its turns; wall clock ms. */
export interface Behind {
  readonly kind: "shell" | "subagent";
  readonly from: number;
  /** Absent: it is still running. */
  readonly to?: number | undefined;
}

/** A word in each message of the main conversation, and in no task of a sub-agent. */
export const MAIN = "main-";

/** The agent's own turns, without the work of its sub-agents. */
export function mainTurns(spans: readonly ModelSpan[]): readonly Turn[] {
  return turnsOf(spans.filter(isMain), [], /(?:)/);
}

/**
 * The working time of sub-agents with this word in their task: from the first request to the end of the last answer.
 */
export function subagentOf(spans: readonly ModelSpan[], word: string): Behind | undefined {
  const own = spans.filter((span) => !isMain(span) && span.request.userTexts.some((text) => text.includes(word)));
  const [first] = own;
  if (first === undefined) return undefined;
  const ends = own.map(({ endedAt }) => endedAt);
  const to = ends.includes(undefined) ? undefined : Math.max(...ends.map((end) => end ?? 0));
  return { kind: "subagent", from: first.request.at, to };
}

/**
 * The agent's own id of the sub-agent whose task contains `word`, from its tool's answer to the model.
 * @throws Error if the tool named none
 */
export function taskIdOf(spans: readonly ModelSpan[], word: string): string {
  const answered = spans.find(
    (span) => isMain(span) && span.request.afterTool && span.request.lastUserText.includes(word),
  );
  const id = /agentId: (\S+)/.exec(answered?.request.toolResult ?? "")?.[1];
  if (id === undefined) throw new Error(`no id of a sub-agent in ${JSON.stringify(answered?.request.toolResult)}`);
  return id;
}

function isMain({ request }: ModelSpan): boolean {
  return request.userTexts.some((text) => text.includes(MAIN));
}
