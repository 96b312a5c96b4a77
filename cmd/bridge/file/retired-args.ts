import type { ProviderName } from "./schema.ts";

/** Arguments of earlier versions that the program of today refuses to start with. `true`: a value follows. */
const RETIRED: Readonly<Record<ProviderName, Readonly<Record<string, boolean>>>> = {
  codex: {
    "--quiet": false,
    "-q": false,
    "--auto-edit": false,
    "--full-stdout": false,
    "--approval-mode": true,
    "--reasoning": true,
    "--flex-mode": false,
    "--no-project-doc": false,
    "--project-doc": true,
    "--writable-root": true,
    "-w": true,
    "--notify": false,
    "--disable-response-storage": false,
  },
  claude: {},
  opencode: {},
  demo: {},
};

export interface ProviderArgs {
  readonly kept: readonly string[];
  /** As they were written, a value with its argument. */
  readonly retired: readonly string[];
}

/** Parts a provider's arguments into those that its program knows and those that it would not start with. */
export function withoutRetired(provider: ProviderName, args: readonly string[]): ProviderArgs {
  const kept: string[] = [];
  const retired: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const [name = ""] = arg.split("=", 1);
    const takesValue = Object.hasOwn(RETIRED[provider], name) ? RETIRED[provider][name] : undefined;
    if (takesValue === undefined) kept.push(arg);
    else if (takesValue && name === arg && i + 1 < args.length) retired.push(`${arg} ${args[++i]}`);
    else retired.push(arg);
  }
  return { kept, retired };
}
