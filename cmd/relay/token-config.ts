import { MAX_TOKEN_TTL_MS } from "../../internal/auth/token-verifier.ts";
import { noArguments } from "../../internal/cli/command/arguments.ts";
import type { Given } from "../../internal/cli/command/command.ts";
import type { SIGN_FLAGS, TOKEN_FLAGS } from "./flags/flags.ts";
import { invalid, nameOf, needed } from "./flags/given.ts";

/** An issuer of agents' tokens. */
export interface TokenSigner {
  /** A private Ed25519 key, PEM; read for each token. */
  readonly keyPath: string;
  readonly issuer: string;
  readonly project: string;
  readonly audience: string;
}

/** The command line of `relay token`. */
export interface TokenCommand extends TokenSigner {
  readonly sessionId: string;
  readonly role: string;
  readonly agentId: string;
  readonly subject: string;
  readonly ttlMs: number;
  /** The certificate that the token is bound to; undefined: the token is not bound. */
  readonly certificatePath: string | undefined;
  /** Undefined: the token is printed. */
  readonly file: string | undefined;
}

/** @throws DomainError `invalid`, naming the flag */
export function readTokenConfig(given: Given<typeof TOKEN_FLAGS>): TokenCommand {
  noArguments("relay token", given);
  const { values } = given;
  const { ttl: ttlMs = MAX_TOKEN_TTL_MS, cert: certificatePath, file } = values;
  if (ttlMs < 1000 || ttlMs > MAX_TOKEN_TTL_MS) throw invalid("--ttl is between 1s and 5m");
  const sessionId = needed("--session", nameOf("--session", values.session));
  const role = needed("--role", nameOf("--role", values.role));
  const agentId = needed("--agent-id", nameOf("--agent-id", values["agent-id"]));
  const signer = readSigner(values);
  if (signer === undefined) throw invalid("--jwt-key is missing");
  return {
    ...{ ...signer, sessionId, role, agentId, ttlMs, certificatePath, file },
    subject: values.subject ?? agentId,
  };
}

/** Reads the signer's flags. Undefined: none is given. @throws DomainError `invalid` if only some of them are given */
export function readSigner(values: Given<typeof SIGN_FLAGS>["values"]): TokenSigner | undefined {
  const { "jwt-key": keyPath, "jwt-issuer": issuer, project, audience } = values;
  if ([keyPath, issuer, project, audience].every((value) => value === undefined)) return undefined;
  if (!keyPath || !issuer || !project) {
    throw invalid("a token needs all three of --jwt-key, --jwt-issuer and --project");
  }
  return { keyPath, issuer, project, audience: audience ?? "relay" };
}
