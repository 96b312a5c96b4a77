import { DomainError } from "../../internal/base/errors.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import type { ModeOptions } from "./config.ts";
import { Configuration, findDesk } from "./configuration.ts";
import type { DeskFile } from "./desk-file.ts";
import { type OpenFront, openFront } from "./open-front.ts";

/** A desk whose configuration has been read and whose front can be started. */
export interface Desk {
  readonly configuration: Configuration;
  /** The configuration at the start, with the flags applied. */
  readonly config: DeskFile;
  readonly front: OpenFront;
  /** The configuration at a turn's start; the front gets its part. */
  atTurn(): DeskFile;
}

/** @throws DomainError as `findDesk`, `Configuration` and `openFront` */
export async function openDesk(
  options: Pick<ModeOptions, "config" | "stateDir" | "isolation" | "agent"> & { readonly mode: "admin" | "user" },
  context: CommandContext,
): Promise<Desk> {
  const { mode, agent } = options;
  const place = findDesk(options, process.cwd());
  const configuration = new Configuration(place, (text) => context.note(text));
  const { hasSupervisor } = configuration;
  if (mode === "admin" && !hasSupervisor) {
    throw new DomainError("invalid", `${place.file} has no block supervisor, which --mode admin needs`);
  }
  const withFlags = (config: DeskFile): DeskFile => {
    if (agent === undefined) return config;
    return mode === "admin"
      ? { ...config, supervisor: { ...config.supervisor, agent } }
      : { ...config, customer: { ...config.customer, agent } };
  };
  const config = withFlags(configuration.current);
  const isolation = options.isolation ?? config.customer.isolation;
  const front = await openFront(context.clock, { place, config, hasSupervisor, isolation, env: context.env });
  front.hand(config);
  const atTurn = () => {
    const current = withFlags(configuration.current);
    front.hand(current);
    return current;
  };
  return { configuration, config, front, atTurn };
}
