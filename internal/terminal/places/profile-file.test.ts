import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { profileInUse, profilePath, readProfiles, writeProfiles } from "./profile-file.ts";

let dir: string;
let env: Record<string, string>;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gt-profile-"));
  env = { XDG_CONFIG_HOME: dir };
});
afterEach(() => rmSync(dir, { recursive: true }));

function put(text: string, mode = 0o600): string {
  const path = profilePath(env) ?? "";
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

it.each([
  [{ XDG_CONFIG_HOME: "/x", HOME: "/h" }, "/x/gt/config.json"],
  [{ HOME: "/h" }, "/h/.config/gt/config.json"],
  [{}, undefined],
])("with %j is at %s", (variables, path) => {
  expect(profilePath(variables)).toBe(path);
});

it("is empty without a file, and is written for its owner only", () => {
  expect(readProfiles(env)).toEqual({ current: "default", profiles: {} });
  const profiles = { current: "a", profiles: { a: { server: "x:1" }, b: {} } };
  writeProfiles(env, profiles);
  expect(readProfiles(env)).toEqual(profiles);
  expect(statSync(profilePath(env) ?? "").mode & 0o777).toBe(0o600);
  expect(profileInUse(env, undefined)).toEqual({ server: "x:1" });
  expect(profileInUse(env, "b")).toEqual({});
  expect(() => profileInUse(env, "c")).toThrow('no profile "c"; there are: a, b');
});

it("is refused if others may write it, because they could redirect tokens and messages", () => {
  const path = put("{}", 0o622);
  expect(() => readProfiles(env)).toThrow(`${path} can be written by others`);
});

it.each([
  ["[]", "not an object of profiles"],
  ["nonsense", ""],
  ['{"profiles":{"a":1}}', "profile a is not an object"],
  ['{"profiles":{"a":{"passphrase":"x"}}}', "profile a has an unknown key passphrase"],
  ['{"profiles":{"a":{"server":""}}}', "server of profile a is not a string"],
  ['{"profiles":{},"theme":"dark"}', "an unknown key theme (known: current, profiles)"],
  ['{"current":7}', "current is not a name"],
  ['{"profiles":{"a":{}},"profiles":{}}', ""],
])("refuses %s", (text, message) => {
  const path = put(text);
  expect(() => readProfiles(env)).toThrow(`${path}: ${message}`);
});

it("keeps a link, and writes the file that it leads to", () => {
  const path = put("{}");
  const kept = join(dir, "kept.json");
  renameSync(path, kept);
  symlinkSync(kept, path);
  const profiles = { current: "work", profiles: { work: { server: "b:1" } } };
  writeProfiles(env, profiles);
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
  expect(JSON.parse(readFileSync(kept, "utf8"))).toEqual(profiles);
  rmSync(kept);
  expect(() => writeProfiles(env, profiles)).toThrow(`cannot write ${path}, a link to ${kept}: there is no such file`);
});

it("does not change a file that its owner has made read-only, even through a link", () => {
  const path = put("{}", 0o444);
  expect(() => writeProfiles(env, { current: "a", profiles: {} })).toThrow(`cannot write ${path}: it is read-only`);
  const kept = join(dir, "kept.json");
  renameSync(path, kept);
  symlinkSync(kept, path);
  expect(() => writeProfiles(env, { current: "a", profiles: {} })).toThrow(`cannot write ${kept}: it is read-only`);
  expect(readFileSync(kept, "utf8")).toBe("{}");
  expect(statSync(kept).mode & 0o777).toBe(0o444);
});
