import { DomainError } from "../../base/errors.ts";
import type { OptionRules } from "./conversation.ts";

const MAX_NAME_CHARS = 128;
const MAX_PROMPT_BYTES = 16_384;

/** Checks a word that becomes an argument of a program: it must not look like a flag. */
function word(value: string): string | undefined {
  const isWord = value.length <= MAX_NAME_CHARS && /^[A-Za-z0-9][A-Za-z0-9._:/@[\]-]*$/.test(value);
  return isWord ? undefined : "must begin with a letter or digit and contain only letters, digits and ._:/@[]-";
}

/** Accepts these words only. */
export function acceptOnly(...words: readonly string[]): (value: string) => string | undefined {
  return (value) => (words.includes(value) ? undefined : `must be one of ${words.join(", ")}`);
}

/** Checks a text for the model, which is added to the agent's own instructions. */
function prompt(value: string): string | undefined {
  if (Buffer.byteLength(value) > MAX_PROMPT_BYTES) return `must be at most ${MAX_PROMPT_BYTES} bytes`;
  return /[\0-\x08\x0b-\x1f\x7f]/.test(value) ? "must not hold control characters" : undefined;
}

/**
 * The options of every provider. `raw` passes the program's own lines on; `agent` and `role` name the agent to other
 * services, and never reach a program.
 */
export const COMMON_OPTIONS = {
  mode: acceptOnly("stdio"),
  raw: acceptOnly("true", "false"),
  agent: word,
  role: word,
} satisfies OptionRules;

export const MODEL = { model: word } satisfies OptionRules;
export const RESUME = { resume: word } satisfies OptionRules;
export const SYSTEM_PROMPT = { system_prompt: prompt } satisfies OptionRules;

/**
 * Refuses an option that the configuration does not let callers choose, whether or not the provider knows it.
 * @throws DomainError `denied`, naming the option
 */
export function checkAllowed(
  provider: string,
  allowed: readonly string[] | undefined,
  options: Readonly<Record<string, string>>,
): void {
  const name = allowed && Object.keys(options).find((each) => !allowed.includes(each));
  if (name === undefined) return;
  const option = name.slice(0, 64);
  const message = `the configuration does not let callers choose option ${JSON.stringify(option)} of ${provider}`;
  throw new DomainError("denied", message, { fields: { option } });
}

/** @throws DomainError `invalid`, naming the option and what is allowed */
export function checkOptions(provider: string, rules: OptionRules, options: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      const known = Object.keys(rules).join(", ");
      throw new DomainError(
        "invalid",
        `${provider} has no option ${JSON.stringify(name.slice(0, 64))}; its options are ${known}`,
        {
          fields: { option: name.slice(0, 64) },
        },
      );
    }
    const wrong = rule(value);
    if (wrong !== undefined) {
      throw new DomainError("invalid", `option ${name} of ${provider} ${wrong}`, { fields: { option: name } });
    }
  }
}
