import { DomainError } from "../base/errors.ts";
import type { Capability, Provider } from "./provider.ts";

/** The way to talk to a session's agent: `agent_opts.mode`. */
export type SessionMode = Extract<Capability, "stdio" | "terminal">;

/**
 * The requested mode; the default is `stdio` if the provider has it, else `terminal`.
 * @param hasTerminals this process can start terminals
 * @throws DomainError `invalid` for an unknown mode, `precondition` for one that the provider does not have here
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
