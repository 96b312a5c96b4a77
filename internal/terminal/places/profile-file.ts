import { lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DomainError, errorText } from "../../base/errors.ts";
import { parseStrictJson } from "../../base/strict-json.ts";
import { makeFolders } from "../../files/make-folders.ts";
import { unreadableText } from "../../files/named-file.ts";
import { readRegularFileSync } from "../../files/regular-file.ts";
import { replaceSecret } from "../../files/replace-secret.ts";
import { systemReason } from "../../files/system-reason.ts";
import { isProfileKey, type Profile, profileKeys } from "./profile-keys.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The file of profiles. */
export interface Profiles {
  /** Name of the profile used by default. */
  readonly current: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const DEFAULT_PROFILE = "default";
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const NONE: Profiles = { current: DEFAULT_PROFILE, profiles: {} };

/** `$XDG_CONFIG_HOME/gt/config.json`, else below `~/.config`; undefined without either. */
export function profilePath(env: Env): string | undefined {
  const base = env["XDG_CONFIG_HOME"] || (env["HOME"] && join(env["HOME"], ".config"));
  return base ? join(base, "gt", "config.json") : undefined;
}

/**
 * The profiles; none when there is no file.
 * @throws DomainError `invalid` for a file with other content; `denied` for one that others may write
 */
export function readProfiles(env: Env): Profiles {
  const path = profilePath(env);
  if (path === undefined) return NONE;
  let text: string;
  try {
    text = readRegularFileSync(path);
  } catch (err) {
    if (["ENOENT", "ENOTDIR"].includes((err as NodeJS.ErrnoException).code ?? "")) return NONE;
    throw new DomainError("invalid", unreadableText(path, err), { cause: err });
  }
  // A user who may write it could send our tokens and messages anywhere.
  if ((statSync(path).mode & 0o022) !== 0) {
    throw new DomainError("denied", `${path} can be written by others`, { fields: { hint: `chmod 600 ${path}` } });
  }
  return parseProfiles(text, path);
}

/**
 * Replaces the file atomically; only its owner may read it. If it is a link, its target is replaced.
 * @throws DomainError `invalid` where it cannot be written, or its owner has made it read-only
 */
export function writeProfiles(env: Env, profiles: Profiles): void {
  const named = profilePath(env);
  if (named === undefined) throw new DomainError("invalid", "no location for the file: HOME is not set");
  let path = named;
  try {
    makeFolders(dirname(named));
    if (targetOf(named) !== undefined) path = realpathSync(named);
    refuseReadOnly(path);
    replaceSecret(path, `${JSON.stringify(profiles, null, 2)}\n`);
  } catch (err) {
    if (err instanceof DomainError) throw err;
    const target = targetOf(named);
    const where = target !== undefined && path === named ? `${path}, a link to ${target}` : path;
    throw new DomainError("invalid", `cannot write ${where}: ${systemReason(err)}`, { cause: err });
  }
}

/** A rename would replace the file whatever its mode. */
function refuseReadOnly(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & 0o200) !== 0) return;
  const fields = { hint: `chmod u+w ${path} if gt may change it` };
  throw new DomainError("invalid", `cannot write ${path}: it is read-only`, { fields });
}

/** The target as the symbolic link itself states it; undefined if `path` is not a link. */
function targetOf(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? readlinkSync(path) : undefined;
}

/** @throws DomainError `invalid` for a text that is not a profile's name */
export function checkProfileName(name: string): string {
  if (NAME.test(name)) return name;
  throw new DomainError("invalid", `not a profile's name: ${JSON.stringify(name)} (letters, digits, dots, dashes)`);
}

/**
 * The profile in use: the named one, otherwise the current one, which is empty if it is not stored.
 * @throws DomainError `invalid` if there is no profile of that name; as `readProfiles`
 */
export function profileInUse(env: Env, name: string | undefined): Profile {
  const { current, profiles } = readProfiles(env);
  const found = Object.hasOwn(profiles, name ?? current) ? profiles[name ?? current] : undefined;
  if (found !== undefined || name === undefined) return found ?? {};
  const known = Object.keys(profiles).join(", ");
  throw new DomainError("invalid", `no profile ${JSON.stringify(name)}${known === "" ? "" : `; there are: ${known}`}`, {
    fields: { hint: `gt config set server HOST:PORT --profile ${NAME.test(name) ? name : "NAME"} creates one` },
  });
}

function parseProfiles(text: string, path: string): Profiles {
  const refuse = (why: string) =>
    new DomainError("invalid", `${path}: ${why}`, { fields: { hint: "gt config --help shows what it holds" } });
  let value: unknown;
  try {
    value = parseStrictJson(text);
  } catch (err) {
    throw refuse(errorText(err));
  }
  const { current = DEFAULT_PROFILE, profiles = {}, ...others } = blockOf(value) ?? {};
  const named = blockOf(profiles);
  if (blockOf(value) === undefined || named === undefined) throw refuse("not an object of profiles");
  const [unknown] = Object.keys(others);
  // The next change of the file would drop it.
  if (unknown !== undefined) throw refuse(`an unknown key ${unknown} (known: current, profiles)`);
  if (typeof current !== "string") throw refuse("current is not a name");
  for (const [name, profile] of Object.entries(named)) {
    const block = blockOf(profile);
    if (block === undefined) throw refuse(`profile ${name} is not an object`);
    for (const [key, one] of Object.entries(block)) {
      if (!isProfileKey(key))
        throw refuse(`profile ${name} has an unknown key ${key} (known: ${profileKeys.join(", ")})`);
      if (typeof one !== "string" || one === "") throw refuse(`${key} of profile ${name} is not a string`);
    }
  }
  return { current, profiles: named as Profiles["profiles"] };
}

function blockOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}
