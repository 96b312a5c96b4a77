import { addressMatches, parseAgentAddress } from "../finding/address.ts";
import { type Place, placeAuthority } from "../finding/resolve-place.ts";

export type AgentComparison =
  | { readonly type: "same" }
  /** It is certainly not the requested agent. */
  | { readonly type: "another"; readonly message: string }
  /** It calls itself something else, which may be another name of the requested agent. */
  | { readonly type: "unclear"; readonly message: string };

/**
 * Compares the sidecar that answers with the agent that was asked for. The session id decides if the place has one,
 * otherwise the address. Unless a bead names the place, only two full addresses that differ are certainly a mistake.
 */
export function compareAgent(
  place: Place & { type: "sidecar" },
  answer: { readonly agent: string; readonly sessionId: string },
): AgentComparison {
  const { agent, session, source } = place;
  const at = placeAuthority(place);
  const named = `${answer.agent === "" ? "an agent without a name" : answer.agent} (session ${answer.sessionId})`;
  if (session !== undefined) {
    if (session === answer.sessionId) return { type: "same" };
    return { type: "another", message: `${named} answers at ${at}, but ${agent} (session ${session}) was requested` };
  }
  if (agent === "" || agent === answer.sessionId || isSame(agent, answer.agent)) return { type: "same" };
  const message = `${named} answers at ${at}, but ${agent} was requested`;
  const isCertain = source === "bead" || (agent.includes("/") && answer.agent.includes("/"));
  return { type: isCertain ? "another" : "unclear", message };
}

/** A sidecar may know its agent by a bare name, or by the role that its session has. */
function isSame(asked: string, own: string): boolean {
  if (asked === own || addressMatches(parseAgentAddress(asked), own)) return true;
  return !own.includes("/") && asked.split("/").at(-1) === own;
}
