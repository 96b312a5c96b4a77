import { createHmac, type KeyObject, randomUUID } from "node:crypto";
import { signClaims } from "../../auth/mint-token.ts";
import { type OriginClaims, originToken } from "./origin-token.ts";

/** An `authorization` header that no bridge has sent. */
export interface Forgery {
  readonly name: string;
  /** The `authorization` header; undefined: none. */
  readonly authorization?: string;
}

/** The ingredients of forged tokens. */
export interface ForgeryMaterial {
  /** The bridge's own key, for tokens with a valid signature and another fault. */
  readonly key: KeyObject;
  readonly publicPem: string;
  /** A key that is not the bridge's. */
  readonly foreignKey: KeyObject;
  /** The claims that fit the text sent with each token. */
  readonly envelope: OriginClaims;
  /** Wall clock, ms. */
  readonly now: number;
}

const bearer = (token: string) => `Bearer ${token}`;
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Every kind of header that does not prove a crossing; the front refuses each. */
export function forgedTokens(material: ForgeryMaterial): readonly Forgery[] {
  const { key, foreignKey, envelope, now } = material;
  const good = originToken(key, envelope, now);
  const [header = "", payload = "", signature = ""] = good.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
  const seconds = Math.floor(now / 1000);
  const signed = (name: string, changed: object) => ({
    name,
    authorization: bearer(signClaims(key, { ...claims, ...changed })),
  });
  const { jti: _jti, ...withoutId } = claims;
  return [
    { name: "no token" },
    { name: "no bearer", authorization: `Basic ${good}` },
    { name: "no token behind Bearer", authorization: "Bearer " },
    { name: "two parts", authorization: bearer(`${header}.${payload}`) },
    { name: "no signature", authorization: bearer(`${encoded({ alg: "none" })}.${payload}.`) },
    { name: "signed by another key", authorization: bearer(originToken(foreignKey, envelope, now)) },
    { name: "HMAC with the public key", authorization: bearer(hmacToken(material, payload)) },
    {
      name: "a key in the header",
      authorization: bearer(`${encoded({ alg: "EdDSA", typ: "JWT", kid: "bridge" })}.${payload}.${signature}`),
    },
    {
      name: "altered claims",
      authorization: bearer(`${header}.${encoded({ ...claims, thread: "other" })}.${signature}`),
    },
    signed("expired", { iat: seconds - 61, exp: seconds - 1 }),
    signed("of a later time", { iat: seconds + 45, exp: seconds + 90 }),
    signed("valid for too long", { exp: seconds + 3600 }),
    signed("another issuer", { iss: "desk-front" }),
    signed("another audience", { aud: "desk-back" }),
    signed("another subject", { sub: "supervisor" }),
    signed("an additional claim", { answer: "wholesale" }),
    { name: "a missing claim", authorization: bearer(signClaims(key, withoutId)) },
    signed("an id that is not a UUID", { jti: "1" }),
    signed("an invalid thread name", { thread: "../main" }),
    signed("another text's hash", { jti: randomUUID(), sha256: "0".repeat(64) }),
    signed("another text's length", { jti: randomUUID(), bytes: envelope.bytes + 1 }),
  ];
}

function hmacToken({ publicPem }: ForgeryMaterial, payload: string): string {
  const signed = `${encoded({ alg: "HS256", typ: "JWT" })}.${payload}`;
  return `${signed}.${createHmac("sha256", publicPem).update(signed).digest("base64url")}`;
}
