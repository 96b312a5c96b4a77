import { DomainError } from "../../base/errors.ts";
import type { AgentAddress } from "./address.ts";
import { formatAddress } from "./address.ts";
import { DEFAULT_PREFIX, type Town } from "./town.ts";

/** A tmux session that an address may mean, with the session's full address. */
export interface SessionCandidate {
  readonly session: string;
  readonly address: AgentAddress;
}

/** Upstream's own rig, whose prefix is known without its registry. */
const DEFAULT_RIG = "gastown";

/**
 * The tmux sessions that an address may mean, in groups: the first group with a live session decides, and within a
 * group two live sessions are an ambiguity. Crew comes before polecats. `town` knows the rigs' prefixes; without one a
 * rig's name, with and without `gt-` before it, stands for its prefix.
 * @internal
 */
export function sessionCandidates(
  address: AgentAddress,
  town: Town | undefined,
): readonly (readonly SessionCandidate[])[] {
  switch (address.type) {
    case "town":
      return [[{ session: `hq-${address.role}`, address }]];
    case "rig-role":
      return single(
        rigPrefixes(address.rig, town).map((prefix) => ({ session: `${prefix}-${address.role}`, address })),
      );
    case "crew":
      return single(
        rigPrefixes(address.rig, town).map((prefix) => ({ session: `${prefix}-crew-${address.name}`, address })),
      );
    case "polecat":
      return single(
        rigPrefixes(address.rig, town).map((prefix) => ({ session: `${prefix}-${address.name}`, address })),
      );
    case "worker":
      return workerGroups(address.rig, address.name, town);
    case "bare":
      return bareGroups(address.name, town);
  }
}

/**
 * The live session an address means; undefined when there is none.
 * @throws DomainError `invalid` when two agents fit, with both named.
 */
export function chooseSession(
  address: AgentAddress,
  town: Town | undefined,
  live: ReadonlySet<string>,
): SessionCandidate | undefined {
  for (const group of sessionCandidates(address, town)) {
    const found = group.filter((candidate) => live.has(candidate.session));
    const [first, second] = found;
    if (first !== undefined && second === undefined) return first;
    if (first !== undefined) throw ambiguous(address, found);
  }
  return undefined;
}

/** The address of the session with that name; the name itself if it is not one of upstream's. */
export function addressOfSession(session: string, town: Town | undefined): AgentAddress {
  if (session === "hq-mayor" || session === "hq-deacon" || session === "hq-boot") {
    return { type: "town", role: session === "hq-mayor" ? "mayor" : session === "hq-deacon" ? "deacon" : "boot" };
  }
  const rigs = [...(town?.prefixes ?? [])].sort((a, b) => b[1].length - a[1].length);
  for (const [rig, prefix] of rigs) {
    if (!session.startsWith(`${prefix}-`)) continue;
    const rest = session.slice(prefix.length + 1);
    if (rest === "witness" || rest === "refinery") return { type: "rig-role", rig, role: rest };
    if (rest.startsWith("crew-") && rest.length > 5) return { type: "crew", rig, name: rest.slice(5) };
    if (rest !== "") return { type: "polecat", rig, name: rest };
  }
  return { type: "bare", name: session };
}

/** The prefixes a rig's sessions may have, most certain first. */
function rigPrefixes(rig: string, town: Town | undefined): readonly string[] {
  const known = town?.prefixes.get(rig);
  if (known !== undefined) return [known];
  const guesses = [rig, `${DEFAULT_PREFIX}-${rig}`];
  return rig === DEFAULT_RIG ? [DEFAULT_PREFIX, ...guesses] : guesses;
}

function workerGroups(rig: string, name: string, town: Town | undefined): readonly (readonly SessionCandidate[])[] {
  return [
    ...sessionCandidates({ type: "crew", rig, name }, town),
    ...sessionCandidates({ type: "polecat", rig, name }, town),
  ];
}

function bareGroups(name: string, town: Town | undefined): readonly (readonly SessionCandidate[])[] {
  const exact = [{ session: name, address: addressOfSession(name, town) }];
  const here = town?.cwdRig === undefined ? [] : workerGroups(town.cwdRig, name, town);
  const rigs = [...(town?.prefixes.keys() ?? [])];
  const everywhere = (rigs.length > 0 ? rigs : [DEFAULT_RIG]).flatMap((rig) => workerGroups(rig, name, town).flat());
  return [exact, ...here, everywhere];
}

/** Puts each candidate into a group of its own, so that earlier ones win. */
function single(candidates: readonly SessionCandidate[]): readonly (readonly SessionCandidate[])[] {
  return candidates.map((candidate) => [candidate]);
}

function ambiguous(address: AgentAddress, found: readonly SessionCandidate[]): DomainError {
  const names = found.map((candidate) => formatAddress(candidate.address)).join(", ");
  return new DomainError(
    "invalid",
    `${JSON.stringify(formatAddress(address))} is ambiguous: ${names}; write the full address`,
  );
}
