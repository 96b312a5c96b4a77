import { z } from "zod";
import { DomainError } from "../../internal/base/errors.ts";
import { type PathPattern, pathPattern } from "../../internal/files/path-patterns.ts";
import { readPlainFileSync } from "../../internal/files/plain-file.ts";
import { AGENTS, type DeskFile } from "./desk-file.ts";

const limit = z.int().nonnegative();

/** The part of the configuration that the front gets: its own half and the limits. */
const frontSettings = z.strictObject({
  root: z.string(),
  read: z.array(z.string()),
  agent: z.enum(AGENTS),
  /** The agent's program, a file. */
  program: z.string().optional(),
  /** The file with its credentials. */
  credentials: z.string().optional(),
  limits: z.strictObject({
    ...{ input_bytes: limit, file_bytes: limit, turn: limit, threads: limit, sessions: limit, queue: limit },
  }),
});

export type FrontSettingsFile = z.infer<typeof frontSettings>;

const MAX_BYTES = 256 * 1024;

/** The text of the file that passes a configuration on. */
export function frontSettingsText(
  { customer, limits }: Pick<DeskFile, "customer" | "limits">,
  outside: Pick<FrontSettingsFile, "root" | "program" | "credentials">,
): string {
  const { read, agent } = customer;
  const settings: FrontSettingsFile = { ...outside, read, agent, limits };
  return `${JSON.stringify(settings)}\n`;
}

/** @throws DomainError `unavailable` for a file that this program did not write */
export function readFrontSettings(path: string): FrontSettingsFile {
  const text = readPlainFileSync(path, MAX_BYTES);
  try {
    return frontSettings.parse(JSON.parse(text ?? ""));
  } catch (cause) {
    throw new DomainError("unavailable", "the settings of the customer's side cannot be read", { cause });
  }
}

/** Converts the allow list and the limits of a half to the form that turns use. */
export function turnSettings(read: readonly string[], limits: FrontSettingsFile["limits"]) {
  const patterns: readonly PathPattern[] = read.map(pathPattern);
  return {
    allowed: { patterns, maxBytes: limits.file_bytes },
    limits: {
      ...{ inputBytes: limits.input_bytes, turnMs: limits.turn },
      ...{ threads: limits.threads, queue: limits.queue },
    },
  };
}
