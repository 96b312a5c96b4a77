import { rmSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { text } from "node:stream/consumers";
import { DomainError } from "../../internal/base/errors.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { runTasks } from "../../internal/base/task-group.ts";
import type { MainContext } from "../../internal/cli/run-main.ts";
import { FrontJournal } from "../../internal/desk/customer/front-journal.ts";
import { frontServer } from "../../internal/desk/customer/front-server.ts";
import { FrontTurns } from "../../internal/desk/customer/front-turns.ts";
import { type ProbePlan, tryWays } from "../../internal/desk/launch/crossing-ways.ts";
import { ANOTHER_RUNS } from "../../internal/desk/launch/front-launcher.ts";
import { type FrontPaths, frontPlace } from "../../internal/desk/launch/front-paths.ts";
import { CallerPresence } from "../../internal/desk/launch/presence.ts";
import { AllowedFiles } from "../../internal/files/allowed-files.ts";
import { lockFolders } from "../../internal/files/folder-lock.ts";
import { folderId } from "../../internal/files/folder-overlap.ts";
import { readFrontSettings, turnSettings } from "./front-settings.ts";
import { openAgent } from "./open-agent.ts";

const INSTRUCTIONS =
  "You are a customer service agent. Answer from briefings and from files below /docs, which you read with read_file.";
/** How long the front stays after its last caller has left. */
const LINGER_MS = 60_000;

/** The probe, started like the front: reads its plan from stdin and writes its findings to stdout. */
export async function runProbe({ stdin, stdout, env }: MainContext): Promise<number> {
  const plan = JSON.parse(await text(stdin)) as ProbePlan;
  stdout.write(JSON.stringify(tryWays(plan, Object.keys(env))));
  return 0;
}

/**
 * The customer's half in its own process; `settings` is the file with its configuration, `name` identifies this start.
 */
export async function runInside(
  { settings, name }: { readonly settings: string; readonly name: string },
  { clock, signal, env }: MainContext,
): Promise<number> {
  const folder = dirname(settings);
  if (basename(folder) !== "front") throw new DomainError("invalid", "these are not the settings of a desk's front");
  const place = frontPlace(dirname(folder), process.getuid?.() ?? 0);
  await using stack = new AsyncDisposableStack();
  try {
    stack.use(await lockFolders(clock, [folder], { waitMs: 0, signal }));
  } catch (err) {
    if (err instanceof DomainError && err.kind === "unavailable") return ANOTHER_RUNS;
    throw err;
  }
  const logger = createLogger("desk", "warn");
  const { root, agent, program, credentials } = readFrontSettings(settings);
  const files = stack.use(new AllowedFiles(root, "/docs"));
  writeFileSync(place.root, folderId(files.root), { mode: 0o600 });
  const journal = new FrontJournal(place.journal);
  if (journal.damaged > 0) logger.warn({ lines: journal.damaged }, "lines of the journal are damaged or torn");
  stack.defer(() => journal.close());
  journal.endOpenTurns();
  const current = () => {
    const { read, limits } = readFrontSettings(settings);
    return turnSettings(read, limits);
  };
  const opened = stack.use(
    await openAgent({
      ...{ agent, program, credentials, prefix: "/docs", instructions: INSTRUCTIONS },
      ...{ home: place.home, tmp: place.tmp, cwd: place.work, path: env["PATH"] ?? "" },
      sessions: () => readFrontSettings(settings).limits.sessions,
    }),
  );
  const turns = new FrontTurns({ clock, journal, files, agent: opened.agent, settings: current });
  const server = frontServer({ clock, logger, turns, journal }, serverPlace(place));
  const presence = new CallerPresence(clock, { path: place.presence, lingerMs: LINGER_MS });
  const announced = {
    async run(until: AbortSignal) {
      await server.listening;
      writeFileSync(place.started, name, { mode: 0o600 });
      writeFileSync(place.address, `unix:${place.socket}\n`, { mode: 0o600 });
      await presence.run(until);
    },
  };
  stack.defer(() => rmSync(place.address, { force: true }));
  await runTasks(signal, [server, announced, ...opened.tasks]);
  return 0;
}

function serverPlace({ socket: path, publicKey: keyPath, audit: auditPath }: FrontPaths) {
  return { path, keyPath, auditPath };
}
