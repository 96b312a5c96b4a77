import { DomainError } from "../../base/errors.ts";

/** The form of `agent_opts` for a program's interactive mode. */
interface Interactive {
  /** Arguments that belong to the program's other modes, or that it no longer accepts; `true`: a value follows. */
  readonly without: Readonly<Record<string, boolean>>;
  /** The arguments of each option, in the order in which the program takes them. */
  readonly options: Readonly<Record<string, (value: string) => readonly string[]>>;
}

const PROGRAMS: Readonly<Record<string, Interactive>> = {
  claude: {
    without: {
      ...{ "--print": false, "-p": false, "--verbose": false, "--replay-user-messages": false },
      ...{ "--input-format": true, "--output-format": true, "--permission-prompt-tool": true },
    },
    options: {
      model: (value) => ["--model", value],
      resume: (value) => ["--resume", value],
      system_prompt: (value) => ["--append-system-prompt", value],
    },
  },
  codex: {
    without: { "--quiet": false, "-q": false, "--full-stdout": false, "--json": false, "--auto-edit": false },
    options: {
      model: (value) => ["--model", value],
      sandbox: (value) => ["--sandbox", value],
      system_prompt: (value) => ["--config", `developer_instructions=${JSON.stringify(value)}`],
      resume: (value) => ["resume", value],
    },
  },
  opencode: {
    without: { "--format": true, "--quiet": false },
    options: { model: (value) => ["--model", value], resume: (value) => ["--session", value] },
  },
  demo: { without: { "--stdio": false }, options: { resume: (value) => ["--resume", value] } },
};

/**
 * The arguments of an agent program in a terminal. `configured` are the arguments of the configuration, some of which
 * belong to the program's other modes; `options` were checked.
 */
export function interactiveArgs(
  provider: string,
  configured: readonly string[],
  options: Readonly<Record<string, string>>,
): readonly string[] {
  const { without, options: known } = programOf(provider);
  // In the order of the table: a subcommand comes last.
  const given = Object.entries(known).flatMap(([name, argsOf]) => {
    const value = options[name];
    return value === undefined ? [] : argsOf(value);
  });
  return [...kept(configured, without), ...given];
}

/** @throws DomainError `invalid` for an option that only the mode `stdio` has */
export function checkInteractive(provider: string, options: Readonly<Record<string, string>>): void {
  const known = Object.keys(programOf(provider).options);
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const name = unknown.slice(0, 64);
  const there = known.length === 0 ? "it has none there" : `its options there are ${known.join(", ")}`;
  throw new DomainError("invalid", `${provider} has no option ${JSON.stringify(name)} in the mode terminal; ${there}`, {
    fields: { option: name },
  });
}

function programOf(provider: string): Interactive {
  const known = Object.hasOwn(PROGRAMS, provider) ? PROGRAMS[provider] : undefined;
  return known ?? { without: {}, options: {} };
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
