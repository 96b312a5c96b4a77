import { DomainError } from "../../base/errors.ts";

type TownRole = "mayor" | "deacon" | "boot";
type RigRole = "witness" | "refinery";

/** The agents that an address means, as far as its text shows. */
export type AgentAddress =
  | { readonly type: "town"; readonly role: TownRole }
  | { readonly type: "rig-role"; readonly rig: string; readonly role: RigRole }
  | { readonly type: "crew"; readonly rig: string; readonly name: string }
  | { readonly type: "polecat"; readonly rig: string; readonly name: string }
  /** `rig/name`: a crew member of that name if there is one, otherwise a polecat. */
  | { readonly type: "worker"; readonly rig: string; readonly name: string }
  /** A name alone: a worker of some rig, a tmux session, a sidecar's address or session id. */
  | { readonly type: "bare"; readonly name: string };

/** No `:` or leading `=`, `%`, `@`, `$`, `-`: those mean something to tmux or to a command line. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

const FORMS =
  "write rig/name, rig/polecats/name, rig/crew/name, rig/witness, rig/refinery, mayor, deacon, boot or a name";

/**
 * Reads an agent's address; the same for every command. A trailing slash and an `hq/` before a town agent are accepted.
 * @throws DomainError `invalid` for anything that is not an address.
 */
export function parseAgentAddress(text: string): AgentAddress {
  const parts = text.replace(/\/$/, "").split("/");
  if (parts.some((part) => !NAME.test(part))) throw invalid(text);
  const [first = "", second, third, ...more] = parts;
  if (more.length > 0) throw invalid(text);
  if (second === undefined) return isTownRole(first) ? { type: "town", role: first } : { type: "bare", name: first };
  if (third === undefined) return twoParts(text, first, second);
  if (second === "polecats") return { type: "polecat", rig: first, name: third };
  if (second === "crew") return { type: "crew", rig: first, name: third };
  throw invalid(text);
}

/** The full form of an address, as it is shown and compared. */
export function formatAddress(address: AgentAddress): string {
  switch (address.type) {
    case "town":
      return address.role;
    case "rig-role":
      return `${address.rig}/${address.role}`;
    case "crew":
      return `${address.rig}/crew/${address.name}`;
    case "polecat":
      return `${address.rig}/polecats/${address.name}`;
    case "worker":
      return `${address.rig}/${address.name}`;
    case "bare":
      return address.name;
  }
}

/**
 * True if `asked` means an agent that calls itself `own`. `own` may be any text; one that is not an address never
 * matches.
 */
export function addressMatches(asked: AgentAddress, own: string): boolean {
  const known = tryParse(own);
  if (known === undefined) return false;
  if (formatAddress(known) === formatAddress(asked)) return true;
  if (asked.type === "bare") return "name" in known && known.name === asked.name;
  if (asked.type !== "worker") return false;
  return (known.type === "crew" || known.type === "polecat") && known.rig === asked.rig && known.name === asked.name;
}

function twoParts(text: string, first: string, second: string): AgentAddress {
  if (first === "hq") {
    if (isTownRole(second)) return { type: "town", role: second };
    throw invalid(text);
  }
  if (isTownRole(first) || second === "polecats" || second === "crew") throw invalid(text);
  if (second === "witness" || second === "refinery") return { type: "rig-role", rig: first, role: second };
  return { type: "worker", rig: first, name: second };
}

function tryParse(text: string): AgentAddress | undefined {
  try {
    return parseAgentAddress(text);
  } catch (err) {
    if (err instanceof DomainError) return undefined;
    throw err;
  }
}

function isTownRole(text: string): text is TownRole {
  return text === "mayor" || text === "deacon" || text === "boot";
}

function invalid(text: string): DomainError {
  return new DomainError("invalid", `not an agent's address: ${JSON.stringify(text.slice(0, 200))} (${FORMS})`);
}
