import { parseArgs } from "node:util";
import { parseDurationMs } from "../base/duration.ts";
import { DomainError } from "../base/errors.ts";
import { nearestName } from "./nearest-name.ts";

/** One flag. The name is the key in the spec, without dashes. */
export interface FlagSpec {
  /** `number` takes whole numbers, `duration` gives milliseconds (`300ms`, `1.5s`, `10m`), `list` may repeat. */
  readonly type: "string" | "boolean" | "number" | "duration" | "list";
  readonly short?: string;
  /**
   * Environment variable read when the flag is absent. A list is split at commas; an empty variable counts as absent.
   */
  readonly env?: string;
  /** True: an empty text is a valid value. Otherwise it is refused: it mostly comes from a variable that is not set. */
  readonly allowEmpty?: boolean;
}

export type FlagSpecs = Readonly<Record<string, FlagSpec>>;

interface ValueOf {
  readonly string: string;
  readonly boolean: boolean;
  readonly number: number;
  readonly duration: number;
  readonly list: readonly string[];
}

/** The given values. An absent flag is an absent key, so callers write defaults as `values.lines ?? 100`. */
export type FlagValues<S extends FlagSpecs> = { readonly [K in keyof S]?: ValueOf[S[K]["type"]] };

export interface ParsedFlags<S extends FlagSpecs> {
  /** `--help`, `-h` or `--version` was on the line: nothing else was checked. */
  readonly ask?: "help" | "version";
  readonly values: FlagValues<S>;
  readonly positionals: readonly string[];
  /** The arguments after `--`; undefined if there was no `--`. */
  readonly rest?: readonly string[];
}

type FlagValue = ValueOf[keyof ValueOf];
type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads flags from `argv` (without the program), then from the environment. `--no-NAME` turns a boolean off.
 * @throws DomainError `invalid` for an unknown flag (naming the nearest one), a missing or empty value or a value of
 * the wrong type.
 */
export function parseFlags<S extends FlagSpecs>(specs: S, argv: readonly string[], env: Env): ParsedFlags<S> {
  const end = argv.indexOf("--");
  const tokens = tokensOf([specs], argv);
  const asked = tokens.find((token) => token.kind === "option" && (token.name === "help" || token.name === "version"));
  const rest = end < 0 ? {} : { rest: argv.slice(end + 1) };
  if (asked?.kind === "option") {
    return { ask: asked.name as "help" | "version", values: {}, positionals: [], ...rest };
  }
  const values: Record<string, FlagValue> = {};
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind === "option") readOption(specs, token, values);
  }
  readEnvironment(specs, env, values);
  return { values: values as FlagValues<S>, positionals, ...rest };
}

/** The index of the first argument that is neither a flag of the commands nor a flag's value. */
export function firstWord(commands: readonly FlagSpecs[], argv: readonly string[]): number | undefined {
  return tokensOf(commands, argv).find((token) => token.kind === "positional")?.index;
}

/** The error for the first flag that none of the commands takes. */
export function unknownFlagIn(commands: readonly FlagSpecs[], argv: readonly string[]): DomainError | undefined {
  const known = Object.keys(Object.assign({}, ...commands));
  for (const token of tokensOf(commands, argv)) {
    if (token.kind !== "option" || ["help", "version", ...known].includes(token.name)) continue;
    if (!known.includes(token.name.replace(/^no-/, ""))) return unknownFlag(token.rawName, token.name, known);
  }
  return undefined;
}

function tokensOf(commands: readonly FlagSpecs[], argv: readonly string[]) {
  const end = argv.indexOf("--");
  const specs: FlagSpecs = Object.assign({}, ...commands.toReversed());
  return parseArgs({
    args: argv.slice(0, end < 0 ? undefined : end),
    options: parserOptions(specs),
    strict: false,
    tokens: true,
  }).tokens;
}

function parserOptions(specs: FlagSpecs) {
  const options: Record<string, { type: "string" | "boolean"; short?: string }> = {
    help: { type: "boolean", short: "h" },
    version: { type: "boolean" },
  };
  for (const [name, spec] of Object.entries(specs)) {
    const type = spec.type === "boolean" ? "boolean" : "string";
    options[name] = spec.short === undefined ? { type } : { type, short: spec.short };
  }
  return options;
}

function readOption(
  specs: FlagSpecs,
  token: { readonly name: string; readonly rawName: string; readonly value?: string | undefined },
  values: Record<string, FlagValue>,
): void {
  const negated = token.name.startsWith("no-") ? token.name.slice(3) : undefined;
  if (negated !== undefined && specs[token.name] === undefined && specs[negated]?.type === "boolean") {
    values[negated] = false;
    return;
  }
  const spec = specs[token.name];
  if (spec === undefined) throw unknownFlag(token.rawName, token.name, Object.keys(specs));
  if (spec.type === "boolean") {
    values[token.name] = token.value === undefined ? true : readBoolean(token.rawName, token.value);
    return;
  }
  if (token.value === undefined) throw new DomainError("invalid", `${token.rawName} needs a value`);
  const isText = spec.type === "string" || spec.type === "list";
  if (token.value === "" && isText && !spec.allowEmpty) throw new DomainError("invalid", `${token.rawName} is empty`);
  const before = values[token.name];
  const value = readValue(spec, token.rawName, token.value);
  values[token.name] = spec.type === "list" ? [...(Array.isArray(before) ? before : []), token.value] : value;
}

function readEnvironment(specs: FlagSpecs, env: Env, values: Record<string, FlagValue>): void {
  for (const [name, spec] of Object.entries(specs)) {
    const text = spec.env === undefined ? undefined : env[spec.env];
    if (spec.env === undefined || text === undefined || text === "" || values[name] !== undefined) continue;
    if (spec.type === "boolean") values[name] = readBoolean(spec.env, text);
    else values[name] = readValue(spec, spec.env, text);
  }
}

function readValue(spec: FlagSpec, source: string, text: string): FlagValue {
  if (spec.type === "number") return readNumber(source, text);
  if (spec.type === "duration") return readDuration(source, text);
  if (spec.type !== "list") return text;
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function readNumber(source: string, text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new DomainError("invalid", `${source} needs a whole number, not "${text}"`);
  return Number(text);
}

function readDuration(source: string, text: string): number {
  try {
    return parseDurationMs(text);
  } catch {
    throw new DomainError("invalid", `${source} needs a duration such as 300ms, 1.5s or 10m, not "${text}"`);
  }
}

function readBoolean(source: string, text: string): boolean {
  const word = text.toLowerCase();
  if (["1", "true", "yes", "on"].includes(word)) return true;
  if (["0", "false", "no", "off"].includes(word)) return false;
  throw new DomainError("invalid", `${source} must be true or false, not "${text}"`);
}

function unknownFlag(rawName: string, name: string, known: readonly string[]): DomainError {
  const nearest = nearestName(name, [...known, "help", "version"]);
  const hint = nearest === undefined ? "--help lists the flags" : `did you mean --${nearest}?`;
  return new DomainError("invalid", `unknown flag ${rawName}`, { fields: { hint } });
}
