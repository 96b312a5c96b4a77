import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import { takeArguments } from "../../internal/cli/command/arguments.ts";
import type { Command } from "../../internal/cli/command/command.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { replaceFile } from "../../internal/desk/launch/front-launcher.ts";
import { bridgeKey } from "../../internal/desk/supervisor/bridge-key.ts";
import { tryForgeries } from "../../internal/desk/supervisor/try-forgeries.ts";
import { folderId } from "../../internal/files/folder-overlap.ts";
import { readPlainFileSync } from "../../internal/files/plain-file.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { DESK_FLAGS, ISOLATION_FLAG, isolationOf, placeOptions } from "./config.ts";
import { openDesk } from "./open-desk.ts";
import type { OpenFront } from "./open-front.ts";

/** The limit for the id of a folder, which consists of two numbers. */
const MAX_ID_BYTES = 64;

const flags = { ...DESK_FLAGS, isolation: ISOLATION_FLAG } as const;

export const check: Command<typeof flags> = {
  name: "check",
  flags,
  help: {
    usage: "",
    summary: "check the configuration, and try to cross the boundary",
    text: "Reads the configuration, tries each way out of the bounds of the customer's side, compares the folder that it has opened with the one of that name, and sends it forged crossings; prints a line for each. It starts the customer's side if that is not running.",
    notes: "Exit codes: 0 everything holds; 2 faulty file; 4 something does not hold.",
    examples: ["desk check"],
  },
  completion: [],
  async run({ values, positionals }, context) {
    takeArguments("desk check", positionals, []);
    const asked = { ...placeOptions(values), isolation: isolationOf(values.isolation) };
    const { front, configuration, config } = await openDesk({ mode: "user", ...asked }, context);
    context.out.line(printable`configuration: ok`);
    const open = await checkWays(front, context);
    using launcher = front.launcher;
    await launcher.ensure(context.signal);
    const isSame = checkRoot(front, config.customer.root, context);
    const taken = configuration.hasSupervisor ? await checkForgeries(front, context) : 0;
    if (open + taken > 0) {
      throw new DomainError(
        "unavailable",
        `the boundary does not hold: ${open} ways are open, ${taken} forgeries were taken`,
      );
    }
    if (!isSame) throw replaced();
    return 0;
  },
};

async function checkWays(front: OpenFront, { out, signal }: CommandContext): Promise<number> {
  const ways = await front.probe(signal);
  for (const { name, isOpen } of ways) out.line(printable`${isOpen ? "OPEN" : "closed"}: ${name}`);
  return ways.filter(({ isOpen }) => isOpen).length;
}

/** False when the folder has been replaced since the customer's side opened it. */
function checkRoot({ place }: OpenFront, root: string, { out }: CommandContext): boolean {
  const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const isSame = readPlainFileSync(place.root, MAX_ID_BYTES) === folderId(fd);
    out.line(printable`${isSame ? "the same" : "REPLACED"}: the customer's root ${root}`);
    return isSame;
  } finally {
    closeSync(fd);
  }
}

function replaced(): DomainError {
  return new DomainError("unavailable", "the customer's root is not the folder that the customer's side has opened", {
    fields: { hint: "it keeps the one that it opened; leave all modes, wait 60 seconds and start again" },
  });
}

async function checkForgeries(front: OpenFront, { out, clock }: CommandContext): Promise<number> {
  const own = await bridgeKey(join(front.backDir, "bridge.key"));
  replaceFile(front.place.publicKey, own.publicPem);
  using connection = sidecarTransport({ baseUrl: "http://localhost", socketPath: front.place.socket });
  const tried = await tryForgeries(connection.transport, own, clock.now());
  for (const { name, refusal } of tried)
    out.line(printable`${refusal === undefined ? "TAKEN" : `refused (${refusal})`}: a forged crossing: ${name}`);
  return tried.filter(({ refusal }) => refusal === undefined).length;
}
