import type { Backend } from "../../../internal/terminal/backend.ts";
import { type AgentQuery, type Place, resolveBackend } from "../../../internal/terminal/finding/resolve-place.ts";
import { agentsHere } from "./agents-here.ts";
import type { CommandContext } from "./command-context.ts";
import type { PlaceConfig } from "./place-config.ts";

/** An agent that was found, and the way to it. */
export interface FoundAgent {
  /** Its address as far as it is known; never empty. */
  readonly agent: string;
  readonly place: Place;
  readonly backend: Backend;
}

/** Finds one agent and hands it to `use`; its connections are gone afterwards. @throws as `resolveBackend`, and what `use` throws. */
export async function withAgent<T>(
  config: PlaceConfig,
  agent: string,
  context: CommandContext,
  use: (found: FoundAgent) => Promise<T>,
): Promise<T> {
  const deps = await agentsHere(config, context.clock);
  const { place, backend } = await resolveBackend(agentQuery(config, agent), deps, context.signal);
  await using _closed = backend;
  return await use({ agent: place.agent === "" ? backend.where : place.agent, place, backend });
}

function agentQuery(config: PlaceConfig, agent: string): AgentQuery {
  const { host, port, server, localOnly } = config;
  return {
    agent,
    localOnly,
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...(server !== undefined && { server }),
  };
}
