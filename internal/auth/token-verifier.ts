import { hash, type KeyObject, verify } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { BoundedMap } from "./bounded-map.ts";
import { acceptsCertificate, type CallerChain, type IssuerRule } from "./issuing-cas.ts";
import { checkTimes, readClaims, type TokenClaims, type TokenTimes } from "./token-claims.ts";
import { tokenError } from "./token-error.ts";
import { type DecodedToken, decodeToken } from "./token-format.ts";

/** A public key of an issuer. */
export interface TokenKey {
  readonly rule: IssuerRule;
  readonly key: KeyObject;
}

/** All keys in use, by issuer. A set is never modified; a change creates another. */
export type TokenKeySet = ReadonlyMap<string, readonly TokenKey[]>;

/** A token that was valid when it was verified. */
export interface VerifiedToken {
  readonly claims: TokenClaims;
  /** The key that verified its signature. */
  readonly key: TokenKey;
}

export interface TokenVerifierOptions extends TokenTimes {
  readonly audience: string;
  /** The number of valid tokens to cache at most, and likewise of invalid ones. Default 4,096. */
  readonly cacheEntries?: number;
  /** Reads this server's claims. Default: `readClaims`, for a bridge's tokens. */
  readonly readClaims?: ClaimsReader;
  /** The upper limit of `maxTtlMs`. Default: 5 min, required for a bridge's tokens. */
  readonly mostTtlMs?: number;
  /**
   * `optional`: a token is valid on any connection, unless it is bound to a certificate (cnf). `required`, the default:
   * a token is valid only with a certificate that the issuer's CA signed.
   */
  readonly clientCertificate?: "required" | "optional";
}

/**
 * Reads the claims of a token whose signature is not verified yet. May add to the claims that every token has.
 * @throws DomainError `unauthenticated` for a claim that is missing or of a wrong type
 */
type ClaimsReader = (claims: Readonly<Record<string, unknown>>) => TokenClaims;

/** The limit that the requirements set, whatever is configured. */
export const MAX_TOKEN_TTL_MS = 300_000;

/**
 * Decides which tokens are valid: signed with EdDSA by a key of their issuer, for this audience, current, and sent with
 * a certificate that their issuer's CA signed, unless certificates are optional. Each token is verified once; its times
 * and its certificate are checked each time. The cheapest checks come first, the signature last.
 */
export class TokenVerifier {
  readonly #clock: Clock;
  readonly #keys: () => TokenKeySet;
  readonly #options: TokenVerifierOptions;
  /** Keyed by hash, so that memory contains no tokens. */
  readonly #good: BoundedMap<VerifiedToken>;
  readonly #wrong: BoundedMap<DomainError>;
  #cachedFor: TokenKeySet | undefined;

  /** `keys`: the keys in use now; another set empties the cache. */
  constructor(deps: { readonly clock: Clock; readonly keys: () => TokenKeySet }, options: TokenVerifierOptions) {
    this.#clock = deps.clock;
    this.#keys = deps.keys;
    const { maxTtlMs, mostTtlMs = MAX_TOKEN_TTL_MS, cacheEntries = 4096 } = options;
    this.#options = { ...options, maxTtlMs: Math.min(maxTtlMs, mostTtlMs) };
    this.#good = new BoundedMap(cacheEntries);
    this.#wrong = new BoundedMap(cacheEntries);
  }

  /** The number of cached tokens, including invalid ones. */
  get cached(): number {
    return this.#good.size + this.#wrong.size;
  }

  /**
   * @param over undefined: the caller sent no certificate
   * @throws DomainError `unauthenticated` for a token that is not valid, `denied` for a project that its issuer may not
   * act for
   */
  verify(text: string, over: CallerChain | undefined): VerifiedToken {
    const keys = this.#keys();
    if (keys !== this.#cachedFor) this.#forget(keys);
    const id = hash("sha256", text, "base64");
    const known = this.#good.get(id);
    if (known !== undefined && this.#stillCounts(id, known, keys, over)) return known;
    const wrong = this.#wrong.get(wrongId(id, over));
    if (wrong !== undefined) throw wrong;
    const decoded = decodeToken(text);
    const claims = (this.#options.readClaims ?? readClaims)(decoded.claims);
    const token = { claims, key: this.#signerOf(id, decoded, claims, keys, over) };
    this.#good.set(id, token);
    return token;
  }

  /** The key that verified a token is still in use. */
  holds({ key }: VerifiedToken): boolean {
    return this.#keys().get(key.rule.issuer)?.includes(key) ?? false;
  }

  /** False if the key that verified the token is not valid with this certificate; another key of its issuer may be. */
  #stillCounts(id: string, { claims, key }: VerifiedToken, keys: TokenKeySet, over: CallerChain | undefined): boolean {
    try {
      checkTimes(claims, this.#clock.now(), this.#options);
    } catch (err) {
      this.#good.delete(id);
      throw err;
    }
    return this.#checkBond(claims, keys.get(claims.issuer) ?? [], over).includes(key);
  }

  #signerOf(
    id: string,
    { signed, signature }: DecodedToken,
    claims: TokenClaims,
    keys: TokenKeySet,
    over: CallerChain | undefined,
  ): TokenKey {
    const ofIssuer = keys.get(claims.issuer);
    if (ofIssuer === undefined) throw tokenError("issuer", "the token's issuer is not known here");
    if (!claims.audiences.includes(this.#options.audience)) {
      throw tokenError("audience", "the token is for another audience");
    }
    checkTimes(claims, this.#clock.now(), this.#options);
    const candidates = this.#checkBond(claims, ofIssuer, over);
    const signer = candidates.find(({ key }) => verify(null, signed, key, signature));
    if (signer !== undefined) return signer;
    const wrong = tokenError("signature", "the token's signature is not its issuer's");
    this.#wrong.set(wrongId(id, over), wrong);
    throw wrong;
  }

  /** The issuer's keys that are valid on this connection. */
  #checkBond(claims: TokenClaims, keys: readonly TokenKey[], over: CallerChain | undefined): readonly TokenKey[] {
    const { boundTo, project } = claims;
    if (
      boundTo !== undefined &&
      (over === undefined || boundTo !== hash("sha256", over.certificate.raw, "base64url"))
    ) {
      throw tokenError("certificate", "the token is bound to another certificate (cnf)");
    }
    const isOptional = this.#options.clientCertificate === "optional";
    const here = keys.filter(({ rule }) => isOptional || (over !== undefined && acceptsCertificate(rule, over)));
    if (here.length === 0)
      throw tokenError(
        "certificate",
        "the token is not valid with this certificate: its issuer's CA has not signed the certificate",
      );
    const speaking = here.filter(({ rule }) => rule.projects?.includes(project) ?? true);
    if (speaking.length > 0) return speaking;
    throw new DomainError("denied", "the token's issuer may not act for this project", {
      fields: { token: "project" },
    });
  }

  #forget(keys: TokenKeySet): void {
    this.#good.clear();
    this.#wrong.clear();
    this.#cachedFor = keys;
  }
}

function wrongId(id: string, over: CallerChain | undefined): string {
  return id + (over?.certificate.fingerprint256 ?? "");
}
