import { DomainError } from "../../base/errors.ts";

/** How a program takes what `agent_opts` says, in its interactive mode. */
interface Interactive {
  /** Arguments that belong to its other modes, or that it does not start with any more; `true`: a value follows. */
  readonly without: Readonly<Record<string, boolean>>;
  /** The arguments of an option. */
  readonly options: Readonly<Record<string, (value: string) => readonly string[]>>;
}

const PROGRAMS: Readonly<Record<string, Interactive>> = {
  claude: {
    without: {
      ...{ "--print": false, "-p": false, "--verbose": false, "--replay-user-messages": false },
      ...{ "--input-format": true, "--output-format": true, "--permission-prompt-tool": true },
    },
    options: { model: (value) => ["--model", value], resume: (value) => ["--resume", value] },
  },
  codex: {
    without: { "--quiet": false, "-q": false, "--full-stdout": false, "--json": false, "--auto-edit": false },
    options: { model: (value) => ["--model", value] },
  },
  opencode: { without: { "--format": true, "--quiet": false }, options: { model: (value) => ["--model", value] } },
  demo: { without: { "--stdio": false }, options: {} },
};

/**
 * The arguments of an agent program in a terminal. `configured` are those of the configuration, of which some belong to
 * the program's other modes.
 * @throws DomainError `invalid` for an option that counts in the mode `stdio` only
 */
export function interactiveArgs(
  provider: string,
  configured: readonly string[],
  options: Readonly<Record<string, string>>,
): readonly string[] {
  const { without, options: known } = PROGRAMS[provider] ?? { without: {}, options: {} };
  const given = Object.entries(options).flatMap(([name, value]) => {
    const args = Object.hasOwn(known, name) ? known[name]?.(value) : undefined;
    if (args !== undefined) return args;
    throw new DomainError("invalid", `${provider} has no option ${JSON.stringify(name)} in the mode terminal`, {
      fields: { option: name },
    });
  });
  return [...kept(configured, without), ...given];
}

function kept(args: readonly string[], without: Interactive["without"]): readonly string[] {
  const result: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const [name = ""] = arg.split("=", 1);
    if (!Object.hasOwn(without, name)) result.push(arg);
    else if (without[name] === true && name === arg) i++;
  }
  return result;
}
