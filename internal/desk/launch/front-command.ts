import { existsSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import type { FrontPaths } from "./front-paths.ts";
import { sandboxArgs } from "./sandbox.ts";

/** The mechanism that confines the front's process. */
export type Isolation = "permission" | "sandbox" | "none";

/** The program of the desk, as this process runs it. */
export interface DeskProgram {
  readonly node: string;
  /** The file that Node runs. */
  readonly main: string;
}

/** A command to run confined: the front, or the probe of its bounds. */
export interface InnerCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** The part of the machine that the front's process can use. */
export interface FrontBounds {
  readonly isolation: Isolation;
  readonly place: FrontPaths;
  /** The folder that the front serves as `/docs`; the path contains no links. */
  readonly root: string;
  /** The path of bubblewrap, for isolation `sandbox`. */
  readonly bubblewrap: string;
  /** Folders and files of the customer's agent program. */
  readonly agentFiles: readonly string[];
  /** The file with the credentials of the customer's agent. */
  readonly credentials?: string | undefined;
  /** Variables of the launcher that are passed on, by name. */
  readonly inherited: Readonly<Record<string, string | undefined>>;
}

const PASSED_ON = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];

/** The folders and files of the program: the sources it is made of, or the folder of its bundle. */
export function programFiles({ main }: DeskProgram): readonly string[] {
  const suffix = join(sep, "cmd", "desk", "main.ts");
  if (!main.endsWith(suffix)) return [dirname(main)];
  const clone = main.slice(0, -suffix.length);
  return ["cmd", "internal", "node_modules", "package.json"].map((name) => join(clone, name)).filter(existsSync);
}

/** The command line that runs `words` within the front's bounds. It contains no text and no secret. */
export function frontCommand(program: DeskProgram, bounds: FrontBounds, words: readonly string[]): InnerCommand {
  const { place, isolation } = bounds;
  const args = [
    ...["--disable-warning=ExperimentalWarning", "--disable-warning=SecurityWarning"],
    ...(isolation === "permission" ? permissions(program, bounds) : []),
    ...[program.main, ...words],
  ];
  const common = { env: frontEnvironment(bounds), cwd: place.work };
  if (isolation !== "sandbox") return { program: program.node, args, ...common };
  return { program: bounds.bubblewrap, args: [...sandboxOf(program, bounds), program.node, ...args], ...common };
}

function sandboxOf(program: DeskProgram, { place, root, agentFiles, credentials }: FrontBounds): readonly string[] {
  const readable = [...new Set([...programFiles(program), program.node, root, ...agentFiles])];
  const files = credentials === undefined ? [] : [{ from: credentials, to: place.credentials }];
  return sandboxArgs({ place, readable, files });
}

/** The front's environment: the variables of an allow-list, and the paths in the front's folder. */
export function frontEnvironment({ place, inherited }: FrontBounds): Readonly<Record<string, string>> {
  const passed = PASSED_ON.flatMap((name) => {
    const value = inherited[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(passed),
    ...{ HOME: place.home, TMPDIR: place.tmp, PWD: place.work, NODE_COMPILE_CACHE: place.cache },
  };
}

function permissions(program: DeskProgram, { place, root }: FrontBounds): readonly string[] {
  const readable = [...programFiles(program), root, "/proc/self/fd/*", "/proc/self/fdinfo/*"];
  const own = [...new Set([place.folder, place.sockets])].flatMap((path) => [path, `${path}/*`]);
  return [
    "--permission",
    ...[...readable, ...own].map((path) => `--allow-fs-read=${path}`),
    ...own.map((path) => `--allow-fs-write=${path}`),
  ];
}
