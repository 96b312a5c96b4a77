import { statSync } from "node:fs";
import { resolve } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { knownWord } from "../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import { nearestName } from "../../../internal/cli/nearest-name.ts";
import type { Output } from "../../../internal/cli/output.ts";
import { changeProfiles } from "../../../internal/terminal/places/change-profiles.ts";
import {
  checkProfileName,
  type Profiles,
  profilePath,
  readProfiles,
} from "../../../internal/terminal/places/profile-file.ts";
import {
  isProfileKey,
  PROFILE_KEYS,
  type Profile,
  type ProfileKey,
  profileKeys,
} from "../../../internal/terminal/places/profile-keys.ts";
import { readServer } from "../../../internal/terminal/trust/server-address.ts";
import { isAgentId } from "../../../internal/threads/client/agent-id.ts";
import { checkServerUrl } from "../../../internal/threads/client/server-url.ts";

import { gtArguments, gtUsageError } from "../common/command/arguments.ts";
import type { ConfigFlags } from "./config-flags.ts";

export async function runConfig(
  { values, positionals, rest }: Given<ConfigFlags>,
  context: CommandContext,
): Promise<number> {
  const [word, ...words] = [...positionals, ...(rest ?? [])];
  const action = knownWord("the first word", word, ["show", "set", "unset", "use", "path"]);
  const change = (changed: (before: Profiles) => Profiles) => changeProfiles(context, changed);
  const named = ({ current }: Profiles) => checkProfileName(values.profile ?? current);
  const before = readProfiles(context.env);
  named(before);
  switch (action) {
    case "show":
      gtArguments("config", words, []);
      show(before, values.json ?? false, context);
      break;
    case "path":
      gtArguments("config", words, []);
      context.out.line(printable`${profilePath(context.env) ?? ""}`);
      break;
    case "set": {
      const [key = "", value = ""] = gtArguments("config", words, ["key", "value"]);
      const set = { [keyOf(key)]: checkedValue(keyOf(key), value) };
      await change((profiles) => changed(profiles, named(profiles), set));
      break;
    }
    case "unset": {
      const [key = ""] = gtArguments("config", words, ["key"]);
      const unset = { [keyOf(key)]: undefined };
      await change((profiles) => changed(profiles, named(profiles), unset));
      break;
    }
    case "use": {
      const [profile = ""] = gtArguments("config", words, ["profile"]);
      await change((profiles) => ({ ...profiles, current: existing(profiles, profile) }));
    }
  }
  return 0;
}

function changed(
  before: Profiles,
  name: string,
  change: { readonly [K in ProfileKey]?: string | undefined },
): Profiles {
  const values = Object.entries({ ...before.profiles[name], ...change }).filter(([, value]) => value !== undefined);
  return { ...before, profiles: { ...before.profiles, [name]: Object.fromEntries(values) as Profile } };
}

function keyOf(text: string): ProfileKey {
  if (isProfileKey(text)) return text;
  const nearest = nearestName(text, profileKeys);
  const hint = nearest === undefined ? `there are ${profileKeys.join(", ")}` : `did you mean ${nearest}?`;
  throw gtUsageError("config", `no key ${JSON.stringify(text)}`, hint);
}

/** Relative paths are resolved against the current folder. */
function checkedValue(key: ProfileKey, value: string): string {
  if (value === "") throw gtUsageError("config", `the value is empty: gt config unset ${key} removes it`);
  if (key === "server") return readServer(value, "server");
  if (key === "threads") checkServerUrl(value);
  if (key === "person" && !isAgentId(value)) {
    throw gtUsageError("config", `person takes letters, digits and ._/-, not ${JSON.stringify(value)}`);
  }
  return PROFILE_KEYS[key].isPath ? existingPath(key, resolve(value)) : value;
}

/**
 * Reports a mistyped path while the person is watching. The contents of a file are read at each call, because they may
 * change.
 */
function existingPath(key: ProfileKey, path: string): string {
  const wanted = key === "tls-dir" ? "folder" : "file";
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new DomainError("invalid", `${key}: there is no ${wanted} ${path}`);
  if (found.isDirectory() !== (wanted === "folder"))
    throw new DomainError("invalid", `${key}: ${path} is not a ${wanted}`);
  return path;
}

function existing({ profiles }: Profiles, name: string): string {
  if (Object.hasOwn(profiles, name)) return name;
  const known = Object.keys(profiles).join(", ");
  throw new DomainError("invalid", `no profile ${JSON.stringify(name)}${known === "" ? "" : `; there are: ${known}`}`);
}

function show({ current, profiles }: Profiles, json: boolean, { out, note, env }: CommandContext): void {
  const names = Object.keys(profiles);
  if (json) out.line(PrintableText.json({ path: profilePath(env), current, profiles }));
  else if (names.length === 0) note("there is no profile yet; gt config set server HOST:PORT creates one");
  else for (const name of names) out.line(profileText(name, profiles[name] ?? {}, name === current, out));
}

function profileText(name: string, profile: Profile, isCurrent: boolean, out: Output): PrintableText {
  const values = Object.entries(profile);
  const width = Math.max(0, ...values.map(([key]) => key.length));
  return PrintableText.lines([
    printable`${out.paint("bold", name)}${isCurrent ? " (current)" : ""}`,
    ...values.map(([key, value]) => printable`  ${key.padEnd(width)}  ${value}`),
  ]);
}
