import type { Clock } from "../../../internal/base/clock.ts";
import { plainText } from "../../../internal/base/sanitise.ts";
import { Output } from "../../../internal/cli/output.ts";
import type { MainContext } from "../../../internal/cli/run-main.ts";
import type { Backend } from "../../../internal/terminal/backend.ts";
import { type AgentQuery, type Place, resolveBackend } from "../../../internal/terminal/finding/resolve-place.ts";
import type { PlaceConfig } from "../config.ts";
import { agentsHere } from "./agents-here.ts";

/** What every command works with. */
export interface CommandContext {
  readonly out: Output;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  /** `gt: error: …` on stderr, with a `gt: hint: …` line when there is one. */
  error(message: string, hint: string): void;
  /** `gt: note: …` on stderr: true and worth knowing, but not what was asked for. */
  note(message: string): void;
}

export function commandContext(main: MainContext): CommandContext {
  const say = (word: string, text: string) =>
    main.stderr.write(`gt: ${word}: ${plainText(text).replaceAll("\n", " ")}\n`);
  return {
    out: new Output(main.stdout, main.env),
    signal: main.signal,
    clock: main.clock,
    stdin: main.stdin,
    stdout: main.stdout,
    error: (message, hint) => {
      say("error", message);
      if (hint !== "") say("hint", hint);
    },
    note: (message) => say("note", message),
  };
}

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
