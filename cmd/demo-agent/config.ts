import { DomainError } from "../../internal/base/errors.ts";
import { knownWord, noArguments } from "../../internal/cli/command/arguments.ts";
import type { Given } from "../../internal/cli/command/command.ts";
import type { Part } from "../../internal/demo/conversation.ts";
import type { DemoOptions } from "../../internal/demo/options.ts";
import type { OutsidePaths } from "../../internal/demo/outside.ts";
import { readFaults } from "./faults.ts";
import type { FLAGS } from "./flags.ts";

export interface DemoConfig {
  readonly options: DemoOptions;
  readonly paths: OutsidePaths;
  /** The part that the agent plays in threads; undefined: none. */
  readonly threads: Part | undefined;
  /** The conversation to continue. */
  readonly session: string | undefined;
  /** Speak JSON lines instead of drawing a screen. */
  readonly stdio: boolean;
}

/** Reads flags and environment. @throws DomainError `invalid`. */
export function readConfig(given: Given<typeof FLAGS>, env: Readonly<Record<string, string | undefined>>): DemoConfig {
  noArguments("demo-agent", given);
  const { values } = given;
  const options: DemoOptions = {
    seed: values.seed ?? 1,
    turnMs: atLeast("--turn-ms", values["turn-ms"] ?? 2500, 0),
    steps: atLeast("--steps", values.steps ?? 3, 0),
    alternateScreen: values["alternate-screen"] ?? false,
    trustDialog: values["trust-dialog"] ?? false,
    faults: readFaults((values.faults ?? []).flatMap((list) => list.split(","))),
  };
  const paths: OutsidePaths = {
    log: values.log,
    toolLog: values["tool-log"],
    hookFifo: env["GT_HOOK_FIFO"] || undefined,
    hookDir: env["GT_HOOK_DIR"] || undefined,
  };
  const stdio = values.stdio ?? false;
  return { options, paths, stdio, session: values.resume, threads: partOf(values.threads) };
}

function partOf(text: string | undefined): Part | undefined {
  return text === undefined ? undefined : knownWord<Part>("--threads", text, ["review", "fix"]);
}

function atLeast(name: string, number: number, least: number): number {
  if (number < least) throw new DomainError("invalid", `${name} is at least ${least}, not ${number}`);
  return number;
}
