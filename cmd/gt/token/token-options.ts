import type { TokenRequest } from "../../../internal/auth/mint-token.ts";
import { MAX_TOKEN_TTL_MS } from "../../../internal/auth/token-verifier.ts";
import { knownWord } from "../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import { profileInUse } from "../../../internal/terminal/places/profile-file.ts";
import { senderOf } from "../../../internal/terminal/trust/sender.ts";
import { gtArguments, gtUsageError } from "../common/command/arguments.ts";
import type { TokenFlags } from "./token-flags.ts";

export interface TokenOptions {
  readonly keyPath: string;
  readonly certificatePath?: string | undefined;
  readonly request: Omit<TokenRequest, "certificate">;
}

/** Reads the flags; the profile in use gives the defaults. @throws DomainError `invalid` */
export function readTokenOptions(
  { values, positionals, rest }: Given<TokenFlags>,
  env: Readonly<Record<string, string | undefined>>,
): TokenOptions {
  gtArguments("token", [...positionals, ...(rest ?? [])], []);
  const profile = profileInUse(env, values.profile);
  const {
    audience = profile["jwt-audience"] ?? "bridge",
    subject = senderOf(env),
    ttl = MAX_TOKEN_TTL_MS,
    cert,
    scope,
  } = values;
  if (ttl < 1000 || ttl > MAX_TOKEN_TTL_MS) throw gtUsageError("token", "--ttl is between 1s and 5m");
  return {
    keyPath: must(values["jwt-key"] ?? profile["jwt-key"], "--jwt-key"),
    certificatePath: cert,
    request: {
      issuer: must(values["jwt-issuer"] ?? profile["jwt-issuer"], "--jwt-issuer"),
      project: must(values.project ?? profile.project, "--project"),
      ...{ audience, subject, ttlMs: ttl, scope: knownWord("--scope", scope, ["operate", "read", "nudge"] as const) },
    },
  };
}

function must(value: string | undefined, flag: string): string {
  if (value) return value;
  throw gtUsageError("token", `${flag} is missing`);
}
