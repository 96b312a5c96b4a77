import { join } from "node:path";
import { RE2JS } from "re2js";
import { z } from "zod";
import { block, together } from "../../internal/config/block.ts";
import { byteCount, duration, filePath, listOf, oneOf, text, wholeNumber } from "../../internal/config/values.ts";
import { pathPattern } from "../../internal/files/path-patterns.ts";

/** Programs that can be an agent of a half. */
export const AGENTS = ["reader", "claude", "codex", "opencode"] as const;
/** The values of `isolation`; `none` can be given as a flag only. */
const ISOLATIONS = ["auto", "sandbox"] as const;

const DEFAULT_RULES = [{ match: "(?i)^(tell|ask|inform) (the )?customers?\\b", route: "customer" as const }];

/** The schema of `desk.yaml`. */
export function deskSchema(folder: string) {
  return block({
    version: z.literal(1, { error: "must be 1" }),
    supervisor: half(folder, "admin", {}),
    intent: block({
      by: oneOf("rules", "agent").default("rules"),
      rules: listOf(rule(), "a list of rules").default(DEFAULT_RULES),
      default: oneOf("answer", "customer").default("answer"),
    }),
    customer: half(folder, "docs", { isolation: oneOf(...ISOLATIONS).default("auto") }),
    limits: limits(),
  });
}

/** The configuration of the desk; paths are absolute. */
export type DeskFile = z.output<ReturnType<typeof deskSchema>>;

function half<S extends z.ZodRawShape>(folder: string, name: "admin" | "docs", more: S) {
  return block({
    agent: oneOf(...AGENTS).default("reader"),
    root: filePath(folder).default(join(folder, name)),
    read: listOf(pattern(`/${name}`), "a list of patterns").default([`/${name}/**`]),
    credentials: filePath(folder).optional(),
    ...more,
  });
}

function rule() {
  return together(
    block({ match: text("a pattern in RE2 syntax"), route: oneOf("answer", "customer") }),
    ["match"],
    ({ match }, wrong) => {
      try {
        RE2JS.compile(match);
      } catch (err) {
        wrong(["match"], `must be a pattern in RE2 syntax: ${err instanceof Error ? err.message : String(err)}`);
      }
    },
  );
}

function pattern(prefix: string) {
  const what = `a path that begins with ${prefix}/, with * within a part and ** for any parts`;
  return text(what, (value) => value.startsWith(`${prefix}/`) && isPattern(value));
}

function isPattern(value: string): boolean {
  try {
    pathPattern(value);
    return true;
  } catch {
    return false;
  }
}

function limits() {
  return block({
    input_bytes: byteCount(1, 65_536).default(65_536),
    file_bytes: byteCount(1, 1024 * 1024).default(262_144),
    turn: duration("1s", "1h").default(300_000),
    threads: wholeNumber(1, 10_000).default(100),
    sessions: wholeNumber(1, 64).default(8),
    queue: wholeNumber(0, 1000).default(8),
  });
}
