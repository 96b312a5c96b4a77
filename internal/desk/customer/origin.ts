import { type KeyObject, verify } from "node:crypto";
import { z } from "zod";
import { bearerOf } from "../../auth/bearer.ts";
import { decodeToken } from "../../auth/token-format.ts";
import { DomainError } from "../../base/errors.ts";

/** The claims of a verified token about the text that it accompanies. */
export interface Origin {
  readonly id: string;
  readonly thread: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The most that clocks may differ. Applies to the time of issue only, not to expiry. */
const SKEW_S = 30;
const MAX_LIFE_S = 60;

const claimsOf = z.strictObject({
  ...{ iss: z.literal("desk-bridge"), aud: z.literal("desk-front"), sub: z.literal("bridge") },
  ...{ jti: z.uuid(), thread: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/) },
  ...{ sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int().positive() },
  ...{ iat: z.int(), exp: z.int() },
});

/**
 * Verifies that a call comes from the bridge. @param now wall clock, ms
 * @throws DomainError `unauthenticated`; its message is for the audit log
 */
export function originOf(authorization: readonly string[], keys: readonly KeyObject[], now: number): Origin {
  const { claims, signed, signature } = decodeToken(bearerOf(authorization));
  if (!keys.some((key) => verify(null, signed, key, signature))) throw refused("the signature is not the bridge's");
  const parsed = claimsOf.safeParse(claims);
  if (!parsed.success) throw refused("the claims are not those of a crossing");
  const { iat, exp, jti, thread, bytes, sha256 } = parsed.data;
  const seconds = now / 1000;
  if (exp <= seconds) throw refused("the token has expired");
  if (iat > seconds + SKEW_S) throw refused("the token is of a later time");
  if (exp <= iat || exp - iat > MAX_LIFE_S) throw refused("the token is valid for too long");
  return { id: jti, thread, bytes, sha256 };
}

function refused(message: string): DomainError {
  return new DomainError("unauthenticated", message);
}
