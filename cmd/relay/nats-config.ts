import { noArguments } from "../../internal/cli/command/arguments.ts";
import type { Given } from "../../internal/cli/command/command.ts";
import { RIGHTS, type Right } from "../../internal/relay/nats/permissions.ts";
import { isName } from "../../internal/relay/nats/subjects.ts";
import type { NATS_PLACE_FLAGS, NATS_SERVER_FLAGS, NATS_USER_FLAGS } from "./flags/flags.ts";
import { invalid, nameOf, needed } from "./flags/given.ts";

/** The command line of `relay nats server-config`. */
export interface ServerConfigCommand {
  /** The file with the seed of the user's nkey; created if it does not exist. */
  readonly nkeyFile: string;
  readonly streamPrefix: string;
  /** True: the relay may offer agents as services. */
  readonly agentsProtocol: boolean;
}

export interface NatsUserCommand extends Omit<ServerConfigCommand, "agentsProtocol"> {
  readonly sessionId: string;
  readonly can: readonly Right[];
}

/** @throws DomainError `invalid`, naming the flag */
export function readServerConfig(given: Given<typeof NATS_SERVER_FLAGS>): ServerConfigCommand {
  noArguments("relay nats server-config", given);
  return { ...placeOf(given.values), agentsProtocol: given.values["agents-protocol"] ?? false };
}

/** @throws DomainError `invalid`, naming the flag */
export function readNatsUser(given: Given<typeof NATS_USER_FLAGS>): NatsUserCommand {
  noArguments("relay nats user", given);
  const { session, can } = given.values;
  return {
    sessionId: needed("--session", nameOf("--session", session)),
    can: needed("--can", can).split(",").map(rightOf),
    ...placeOf(given.values),
  };
}

function placeOf({ nkey, "stream-prefix": streamPrefix = "RELAY" }: Given<typeof NATS_PLACE_FLAGS>["values"]) {
  if (!isName(streamPrefix)) throw invalid("--stream-prefix takes letters, digits, _ and -");
  if (nkey === "") throw invalid("--nkey takes the path of a file");
  return { nkeyFile: needed("--nkey", nkey), streamPrefix };
}

function rightOf(word: string): Right {
  const right = RIGHTS.find((known) => known === word);
  if (right !== undefined) return right;
  throw invalid(`--can takes a list of ${RIGHTS.join(", ")}, not ${JSON.stringify(word)}`);
}
