import { DomainError } from "../base/errors.ts";
import type { Capability, Provider } from "./provider.ts";

/** How a session's agent is talked to: `agent_opts.mode`. */
export type SessionMode = Extract<Capability, "stdio" | "terminal">;

/**
 * The mode that is asked for; without one `stdio` where the provider has it.
 * @param hasTerminals terminals can be made here
 * @throws DomainError `invalid` for what is no mode, `precondition` for one that the provider lacks
 */
export function modeOf(
  { id, capabilities }: Pick<Provider, "id" | "capabilities">,
  options: Readonly<Record<string, string>>,
  hasTerminals: boolean,
): SessionMode {
  const asked = options["mode"];
  const mode = asked ?? (capabilities.includes("stdio") ? "stdio" : "terminal");
  if (mode !== "stdio" && mode !== "terminal")
    throw new DomainError("invalid", `agent_opts.mode is stdio or terminal, not ${JSON.stringify(mode.slice(0, 40))}`);
  if (capabilities.includes(mode) && (mode === "stdio" || hasTerminals)) return mode;
  throw new DomainError("precondition", `the provider ${id} has no mode ${mode} here`);
}
