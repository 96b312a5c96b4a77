import type { AgentAddress } from "./address.ts";
import { DEFAULT_PREFIX, type Town } from "./town.ts";

/** A name that is itself the ID of an agent's bead. */
const AGENT_BEAD = /^[A-Za-z0-9]+(?:-[A-Za-z0-9_.-]+)?-(?:witness|refinery|(?:crew|polecat)-[A-Za-z0-9_.-]+)$/;

/**
 * IDs of the beads that may describe an agent, most likely first; upstream's rules: `hq-<role>`, and
 * `<prefix>-<rig>-<role>[-<name>]` where the rig is left out when it equals the prefix. Empty if the address determines
 * none.
 */
export function beadIds(address: AgentAddress, town: Town | undefined): readonly string[] {
  switch (address.type) {
    case "town":
      return [`hq-${address.role}`];
    case "rig-role":
      return [rigBead(address.rig, address.role, town)];
    case "crew":
      return [rigBead(address.rig, `crew-${address.name}`, town)];
    case "polecat":
      return [rigBead(address.rig, `polecat-${address.name}`, town)];
    case "worker":
      return [
        rigBead(address.rig, `crew-${address.name}`, town),
        rigBead(address.rig, `polecat-${address.name}`, town),
      ];
    case "bare":
      if (AGENT_BEAD.test(address.name)) return [address.name];
      if (town?.cwdRig === undefined) return [];
      return beadIds({ type: "worker", rig: town.cwdRig, name: address.name }, town);
  }
}

function rigBead(rig: string, role: string, town: Town | undefined): string {
  const prefix = town?.prefixes.get(rig) ?? DEFAULT_PREFIX;
  return prefix === rig ? `${prefix}-${role}` : `${prefix}-${rig}-${role}`;
}
