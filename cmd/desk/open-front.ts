import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../internal/base/clock.ts";
import type { Environment } from "../../internal/base/environment.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { closeAllOnExec } from "../../internal/desk/launch/close-on-exec.ts";
import { type ProbePlan, processStart, type Target, type Way } from "../../internal/desk/launch/crossing-ways.ts";
import {
  type DeskProgram,
  type FrontBounds,
  frontCommand,
  frontEnvironment,
  type Isolation,
  programFiles,
} from "../../internal/desk/launch/front-command.ts";
import { FrontLauncher, replaceFile } from "../../internal/desk/launch/front-launcher.ts";
import { type FrontPaths, frontPlace } from "../../internal/desk/launch/front-paths.ts";
import { probe } from "../../internal/desk/launch/probe.ts";
import { assertSeparate, type NamedFolder } from "../../internal/desk/launch/separate-folders.ts";
import { openPrivateFolder } from "../../internal/files/private-folder.ts";
import { locateProgram } from "../../internal/process/locate-program.ts";
import { agentProgramOf, filesOfProgram, readVariables } from "./agent-program.ts";
import type { DeskPlace } from "./configuration.ts";
import type { DeskFile } from "./desk-file.ts";
import { frontSettingsText } from "./front-settings.ts";
import { sharedCredential } from "./shared-credential.ts";

/** The front of a desk, from outside: where it is, what bounds it, and how it is started. */
export interface OpenFront {
  readonly place: FrontPaths;
  readonly backDir: string;
  readonly isolation: Isolation;
  readonly launcher: FrontLauncher;
  /** The command line that the launcher starts. */
  readonly command: ReturnType<typeof frontCommand>;
  /** Records the settings of a front that is started without this launcher. */
  recordStart(): void;
  /** Hands the configuration to the front, for its next turn. */
  hand(config: DeskFile): void;
  /** Tries every way out of the front's bounds. @throws DomainError `unavailable` */
  probe(signal: AbortSignal): Promise<readonly Way[]>;
}

export interface OpenFrontOptions {
  readonly place: DeskPlace;
  readonly config: DeskFile;
  /** False: the configuration has no block for the administrator's side, which need not exist. */
  readonly hasSupervisor: boolean;
  readonly isolation: DeskFile["customer"]["isolation"] | "none";
  readonly env: Environment;
}

/** The program that runs now. */
function thisProgram(): DeskProgram {
  return { node: process.execPath, main: realpathSync(process.argv[1] ?? "") };
}

/**
 * Makes the state folder and works out the front's bounds; starts nothing.
 * @throws DomainError `unavailable` for roots that overlap or cannot be opened; `denied` for a state folder of others
 */
export async function openFront(clock: Clock, asked: OpenFrontOptions): Promise<OpenFront> {
  const options = { ...asked, config: withCredentialsInUse(asked.config) };
  const { config, hasSupervisor, place: desk } = options;
  const uid = process.getuid?.() ?? 0;
  const place = frontPlace(desk.stateDir, uid);
  const backDir = join(desk.stateDir, "back");
  for (const folder of [desk.stateDir, backDir, place.folder, place.sockets])
    await openPrivateFolder(folder, uid, "choose another state folder with --state-dir");
  for (const folder of [place.home, place.tmp, place.work, place.cache]) mkdirSync(folder, { recursive: true });
  const program = thisProgram();
  checkRoots(options, program);
  if (hasSupervisor) checkCredentials(config);
  const root = realpathSync(config.customer.root);
  const agent = agentProgramOf(config.customer.agent, options.env);
  const bounds: FrontBounds = {
    ...{ isolation: isolationOf(options), place, root, inherited: options.env },
    ...{ bubblewrap: bubblewrapOf(options), agentFiles: agent === undefined ? [] : filesOfProgram(agent) },
    credentials: config.customer.credentials,
  };
  const credentials = bounds.isolation === "sandbox" && bounds.credentials ? place.credentials : bounds.credentials;
  await closeAllOnExec();
  const command = frontCommand(program, bounds, ["front", "--inside", place.settings]);
  const plan: ProbePlan = {
    targets: targetsOf(backDir, hasSupervisor ? options : undefined),
    processes: [process.pid, process.ppid].map((pid) => ({ pid, startedAt: processStart(pid) ?? "" })),
    environment: Object.keys(frontEnvironment(bounds)),
  };
  const recordPath = join(desk.stateDir, "front.json");
  const record = JSON.stringify({ isolation: bounds.isolation, agent: config.customer.agent, root });
  return {
    ...{ place, backDir, command, isolation: bounds.isolation },
    launcher: new FrontLauncher(clock, { place, command, recordPath, record }),
    recordStart: () => replaceFile(recordPath, record),
    hand: (current) => replaceFile(place.settings, frontSettingsText(current, { root, program: agent, credentials })),
    probe: (signal) => probe(frontCommand(program, bounds, ["front", "--probe"]), plan, signal),
  };
}

function isolationOf({ isolation, config }: Pick<OpenFrontOptions, "isolation" | "config">): Isolation {
  if (isolation === "none") return "none";
  return isolation === "sandbox" || config.customer.agent !== "reader" ? "sandbox" : "permission";
}

/** @throws DomainError `unavailable` if a sandbox is needed but not available */
function bubblewrapOf(options: OpenFrontOptions): string {
  if (isolationOf(options) !== "sandbox") return "";
  const found = locateProgram("bwrap", options.env["PATH"] ?? "", "/");
  if (found !== undefined) return found;
  throw new DomainError("unavailable", "isolation by a sandbox needs bubblewrap, and no program bwrap is found", {
    fields: {
      hint: "install it with: apt-get install bubblewrap; or use the agent reader, or --isolation none, which confines nothing",
    },
  });
}

function checkRoots({ config, hasSupervisor, place }: OpenFrontOptions, program: DeskProgram): void {
  const roots: NamedFolder[] = [{ name: "the customer's root", path: config.customer.root }];
  if (hasSupervisor) roots.push({ name: "the administrator's root", path: config.supervisor.root });
  const own = programFiles(program).filter((path) => statSync(path).isDirectory());
  assertSeparate(roots, [
    { name: "the state folder", path: place.stateDir },
    ...own.map((path) => ({ name: "the program", path })),
  ]);
}

/** The reader needs no credentials: a missing file counts as none. */
function withCredentialsInUse(config: DeskFile): DeskFile {
  const { supervisor, customer } = config;
  return { ...config, supervisor: withoutUnused(supervisor), customer: withoutUnused(customer) };
}

function withoutUnused<T extends DeskFile["supervisor"]>(half: T): T {
  const isUnused = half.agent === "reader" && half.credentials !== undefined && !existsSync(half.credentials);
  return isUnused ? { ...half, credentials: undefined } : half;
}

/**
 * A vendor shares its cache and history per key: what one half's agent has sent could come back to the other's.
 * @throws DomainError `unavailable` for a credential that both halves have
 */
function checkCredentials({ supervisor, customer }: DeskFile): void {
  const shared = sharedCredential(readVariables(supervisor.credentials), readVariables(customer.credentials));
  if (shared === undefined) return;
  throw new DomainError("unavailable", `both sides have the same credential ${shared}`, {
    fields: { hint: "give each side's agent a key of its own" },
  });
}

/** Files and folders that the front must not reach. */
function targetsOf(backDir: string, admin: OpenFrontOptions | undefined): readonly Target[] {
  const targets: Target[] = [
    { name: "the administrator's state", path: backDir },
    { name: "the bridge's key", path: join(backDir, "bridge.key") },
    { name: "the administrator's journal", path: join(backDir, "journal.jsonl") },
    { name: "the administrator's HOME", path: join(backDir, "home") },
  ];
  if (admin === undefined) return targets;
  const { supervisor } = admin.config;
  targets.push({ name: "the administrator's root", path: realpathSync(supervisor.root) });
  if (supervisor.credentials !== undefined)
    targets.push({ name: "the administrator's credentials", path: supervisor.credentials });
  if (admin.place.file !== undefined) targets.push({ name: "the configuration", path: realpathSync(admin.place.file) });
  return targets;
}
