import { DomainError } from "../../base/errors.ts";
import { addressMatches, parseAgentAddress } from "./address.ts";

/** The facts about a bridge's session by which one is chosen. */
export interface ListedSession {
  readonly id: string;
  /** Address of its agent; empty: it has none. */
  readonly agent: string;
  /** True: it has not ended. */
  readonly live: boolean;
}

const SHOWN = 20;

/**
 * The session that an id or an agent's address means. An ended one is chosen only if no live one fits.
 * @throws DomainError `not-found` (the message lists what exists), `invalid` for a text with several meanings
 */
export function chooseBridgeSession(asked: string, sessions: readonly ListedSession[]): ListedSession {
  const byId = sessions.find(({ id }) => id === asked);
  if (byId !== undefined) return byId;
  const address = parseAgentAddress(asked);
  const exact = sessions.filter(({ agent }) => agent === asked);
  const fitting = exact.length > 0 ? exact : sessions.filter(({ agent }) => addressMatches(address, agent));
  const live = fitting.filter((one) => one.live);
  const [first, second] = live.length > 0 ? live : fitting;
  if (first === undefined) throw notFound(asked, sessions);
  if (second === undefined) return first;
  const names = (live.length > 0 ? live : fitting).map(({ id, agent }) => `${agent} (session ${id})`).join(", ");
  throw new DomainError("invalid", `${JSON.stringify(asked)} is ambiguous: ${names}; give the session id`);
}

function notFound(asked: string, sessions: readonly ListedSession[]): DomainError {
  const names = sessions
    .filter(({ live }) => live)
    .map(({ id, agent }) => (agent === "" ? id : `${agent} (session ${id})`));
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "";
  const text =
    names.length === 0 ? "no session is running there" : `running there: ${names.slice(0, SHOWN).join(", ")}${more}`;
  return new DomainError("not-found", `no session or agent ${JSON.stringify(asked)}; ${text}`, {
    fields: { hint: "sessions of other projects are not shown: --project sets the project of the token" },
  });
}
