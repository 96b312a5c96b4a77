/** An argument of the configuration that is not used, and the reason. */
interface DroppedArg {
  readonly arg: string;
  /** A sentence without its subject, e.g. `has no value`. */
  readonly reason: string;
}

export interface UsableArgs {
  readonly args: readonly string[];
  readonly dropped: readonly DroppedArg[];
}

/** The number of values of a flag; `ours`: the provider sets the flag itself and ignores a configured one. */
type Arity = "none" | "one" | "many" | "ours" | "ours-one";

interface FlagTable {
  readonly flags: Readonly<Record<string, Arity>>;
  /** Returns the arguments to give in place of a flag with its one value. */
  readonly instead?: (flag: string, value: string) => readonly string[] | undefined;
}

const CLAUDE: FlagTable = {
  flags: {
    ...{ "--print": "ours", "-p": "ours", "--verbose": "ours", "--replay-user-messages": "ours" },
    ...{ "--input-format": "ours-one", "--output-format": "ours-one", "--permission-prompt-tool": "ours-one" },
    ...{ "--model": "one", "--fallback-model": "one", "--effort": "one", "--agent": "one", "--agents": "one" },
    ...{ "--system-prompt": "one", "--append-system-prompt": "one", "--settings": "one", "--setting-sources": "one" },
    ...{ "--system-prompt-file": "one", "--append-system-prompt-file": "one" },
    ...{ "--permission-mode": "one", "--max-turns": "one", "--max-budget-usd": "one", "--plugin-dir": "one" },
    ...{ "--add-dir": "many", "--allowedTools": "many", "--allowed-tools": "many", "--mcp-config": "many" },
    ...{ "--disallowedTools": "many", "--disallowed-tools": "many", "--tools": "many", "--betas": "many" },
    ...{ "--strict-mcp-config": "none", "--bare": "none", "--disable-slash-commands": "none", "--no-chrome": "none" },
    ...{ "--dangerously-skip-permissions": "none", "--allow-dangerously-skip-permissions": "none" },
    ...{ "--exclude-dynamic-system-prompt-sections": "none" },
  },
};

/** `app-server` takes settings only: flags of the other modes are given as settings. */
const CODEX: FlagTable = {
  flags: {
    ...{ "-c": "one", "--config": "one", "--enable": "one", "--disable": "one", "--strict-config": "none" },
    ...{ "-m": "one", "--model": "one", "-s": "one", "--sandbox": "one", "-a": "one", "--ask-for-approval": "one" },
  },
  instead: (flag, value) => {
    const key = CODEX_KEYS[flag];
    return key === undefined ? undefined : ["-c", `${key}=${JSON.stringify(value)}`];
  },
};
const CODEX_KEYS: Readonly<Record<string, string>> = {
  ...{ "-m": "model", "--model": "model", "-s": "sandbox_mode", "--sandbox": "sandbox_mode" },
  ...{ "-a": "approval_policy", "--ask-for-approval": "approval_policy" },
};

const OPENCODE: FlagTable = { flags: { "--print-logs": "none", "--log-level": "one", "--pure": "none" } };

const DEMO: FlagTable = {
  flags: {
    ...{
      "--seed": "one",
      "--turn-ms": "one",
      "--steps": "one",
      "--log": "one",
      "--tool-log": "one",
      "--faults": "one",
    },
    "--stdio": "ours",
  },
};

const TABLES: Readonly<Record<string, FlagTable>> = { claude: CLAUDE, codex: CODEX, opencode: OPENCODE, demo: DEMO };

/**
 * Selects the arguments of the configuration that the provider's machine-readable mode takes. Arguments that the mode
 * does not know, and flags without their value, are left out and reported; arguments that the provider sets by itself
 * are left out silently. Pure.
 */
export function usableArgs(provider: string, args: readonly string[]): UsableArgs {
  const table = Object.hasOwn(TABLES, provider) ? TABLES[provider] : undefined;
  const used: string[] = [];
  const dropped: DroppedArg[] = [];
  for (let at = 0; at < args.length; ) {
    const { flag, values, next } = flagAt(table?.flags ?? {}, args, at);
    const arity = Object.hasOwn(table?.flags ?? {}, flag) ? table?.flags[flag] : undefined;
    const isShort = (arity === "one" || arity === "many") && values.length === 0;
    if (arity === undefined)
      dropped.push({ arg: flag, reason: `is not supported by ${provider}'s machine-readable mode` });
    else if (isShort) dropped.push({ arg: flag, reason: "has no value" });
    else if (!arity.startsWith("ours")) used.push(...(table?.instead?.(flag, values[0] ?? "") ?? [flag, ...values]));
    at = next;
  }
  return { args: used, dropped };
}

/** The flag at index `at` with its values; for an unknown flag, also the next word if that may be its value. */
function flagAt(flags: FlagTable["flags"], args: readonly string[], at: number) {
  const arg = args[at] ?? "";
  const equals = arg.startsWith("--") ? arg.indexOf("=") : -1;
  if (equals > 0) return { flag: arg.slice(0, equals), values: [arg.slice(equals + 1)], next: at + 1 };
  const arity = Object.hasOwn(flags, arg) ? flags[arg] : undefined;
  const isUnknownFlag = arity === undefined && arg.startsWith("-");
  const most = arity === "many" ? Number.POSITIVE_INFINITY : arity === "none" || arity === "ours" ? 0 : 1;
  let end = at + 1;
  const limit = isUnknownFlag || most > 0 ? most : 0;
  while (arg.startsWith("-") && end - at - 1 < limit && end < args.length && !(args[end] ?? "").startsWith("-")) end++;
  return { flag: arg, values: args.slice(at + 1, end), next: end };
}
