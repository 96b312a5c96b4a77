import type { z } from "zod";
import { block } from "../config/block.ts";
import type { KeyPath } from "../config/config-document.ts";
import type { Findings } from "../config/findings.ts";
import { duration, filePath, listOf, text } from "../config/values.ts";
import { readNamedFileSync } from "../files/named-file.ts";
import type { AgentTokenRules } from "./agent-token.ts";
import { signingKeyOf } from "./mint-token.ts";

const role = () =>
  text().refine((name) => name !== "operator", { error: "must not be operator: that role is for people" });

/**
 * The schema of the block `session_tokens`, which says how to sign agents' tokens. Pass its value to `agentTokenRules`.
 * @param issuer the default issuer
 * @param more further keys
 */
export function agentTokenBlock<S extends z.ZodRawShape>(folder: string, issuer: string, more: S) {
  return block({
    ...more,
    key_path: filePath(folder),
    issuer: text().default(issuer),
    audience: text().default("threads"),
    role: role().default("worker"),
    roles: listOf(role(), "a list of roles").default([]),
    ttl: duration("2s", "1h").default(3_600_000),
  });
}

/** The rules of a block `session_tokens`. */
export function agentTokenRules(
  tokens: z.output<ReturnType<typeof agentTokenBlock<Record<never, never>>>>,
): AgentTokenRules {
  const { key_path: keyPath, issuer, audience, role, roles, ttl: ttlMs } = tokens;
  return { keyPath, issuer, audience, role, roles, ttlMs };
}

/** Reads the key that signs agents' tokens; reports a fault at `key_path` below `at`. */
export function checkAgentTokenKey({ keyPath }: AgentTokenRules, at: KeyPath, findings: Findings): void {
  const key = [...at, "key_path"];
  findings.tried(key, () => {
    signingKeyOf(readNamedFileSync(keyPath), keyPath);
    findings.checkPrivate(key, keyPath);
  });
}
