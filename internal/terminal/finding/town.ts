import { stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { DomainError } from "../../base/errors.ts";
import { unreadableText } from "../../files/named-file.ts";
import { readRegularFile } from "../../files/regular-file.ts";

/** A Gas Town on this machine, as far as finding its agents needs it. */
export interface Town {
  readonly root: string;
  /** Beads prefix by rig name, e.g. `gastown` → `gt`. */
  readonly prefixes: ReadonlyMap<string, string>;
  /** The rig that contains the current folder. */
  readonly cwdRig?: string;
}

/** Prefix that upstream's own rig has, and that rigs without a registered prefix use in bead IDs. */
export const DEFAULT_PREFIX = "gt";

const PREFIX = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
const MAX_RIGS_BYTES = 4 * 1024 * 1024;

/**
 * The town that `cwd` lies in (`mayor/town.json` or `mayor/rigs.json` in it or in a folder above it), or the one at
 * `root` when that is given. Undefined outside a town.
 * @throws DomainError `invalid` when `root` is not a town, or when `mayor/rigs.json` cannot be understood.
 */
export async function findTown(where: {
  readonly cwd: string;
  readonly root: string | undefined;
}): Promise<Town | undefined> {
  const root = where.root ?? (await searchUp(where.cwd));
  if (root === undefined) return undefined;
  if (!(await isTown(root)))
    throw new DomainError("invalid", `${JSON.stringify(root)} is not a town: it has no mayor/town.json`);
  const prefixes = await readPrefixes(join(root, "mayor", "rigs.json"));
  const [first = ""] = relative(root, where.cwd).split(sep);
  return prefixes.has(first) ? { root, prefixes, cwdRig: first } : { root, prefixes };
}

/**
 * Reads the text of `mayor/rigs.json`. Rigs without a usable prefix are left out.
 * @internal
 */
export function parseRigs(text: string): ReadonlyMap<string, string> {
  const parsed: unknown = JSON.parse(text);
  const prefixes = new Map<string, string>();
  const rigs = field(parsed, "rigs");
  if (typeof rigs !== "object" || rigs === null) return prefixes;
  for (const [rig, entry] of Object.entries(rigs)) {
    const prefix = field(field(entry, "beads"), "prefix");
    if (typeof prefix !== "string") continue;
    const clean = prefix.replace(/-$/, "");
    if (PREFIX.test(clean)) prefixes.set(rig, clean);
  }
  return prefixes;
}

async function searchUp(cwd: string): Promise<string | undefined> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (await isTown(folder)) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

async function isTown(folder: string): Promise<boolean> {
  return (await isFile(join(folder, "mayor", "town.json"))) || (await isFile(join(folder, "mayor", "rigs.json")));
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function readPrefixes(path: string): Promise<ReadonlyMap<string, string>> {
  if (!(await isFile(path))) return new Map();
  try {
    return parseRigs(await readRegularFile(path, MAX_RIGS_BYTES));
  } catch (err) {
    throw new DomainError("invalid", unreadableText(path, err), { cause: err });
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
