import type { KeyObject } from "node:crypto";
import { signClaims } from "../../auth/mint-token.ts";

/** The claims of a token about the text that goes with it. */
export interface OriginClaims {
  /** The crossing's id, a UUID. */
  readonly id: string;
  readonly thread: string;
  readonly bytes: number;
  readonly sha256: string;
}

const LIFE_S = 60;

/** The proof of origin of one text, valid for a minute. @param now wall clock, ms */
export function originToken(key: KeyObject, envelope: OriginClaims, now: number): string {
  const { id, thread, bytes, sha256 } = envelope;
  const iat = Math.floor(now / 1000);
  const parties = { iss: "desk-bridge", aud: "desk-front", sub: "bridge" };
  return signClaims(key, { ...parties, jti: id, thread, sha256, bytes, iat, exp: iat + LIFE_S });
}
