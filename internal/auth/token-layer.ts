import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import { runTasks, type Task } from "../base/task-group.ts";
import type { CheckedTls } from "../pki/tls-files.ts";
import type { CallContext } from "../rpc/server/call-facts.ts";
import type { Decisions } from "../rpc/server/decisions.ts";
import { checkIssuers } from "./issuing-cas.ts";
import { type TokenGateOptions, tokenGate } from "./token-gate.ts";
import { type TokenKeyFile, TokenKeyFiles } from "./token-key-files.ts";
import { TokenLeases } from "./token-leases.ts";
import { MAX_TOKEN_TTL_MS, TokenVerifier, type TokenVerifierOptions, type VerifiedToken } from "./token-verifier.ts";

export interface TokenLayerOptions extends TokenGateOptions, Pick<TokenVerifierOptions, "readClaims" | "mostTtlMs"> {
  readonly keyFiles: readonly TokenKeyFile[];
  readonly audience: string;
  /** Default 5 min; capped at `mostTtlMs`. */
  readonly maxTtlMs?: number;
  /** Default 30 s. */
  readonly clockSkewMs?: number;
}

export interface TokenLayerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The TLS files in use; they determine which CA signed a caller's certificate. */
  readonly tls: () => CheckedTls | undefined;
  /** Receives the end of a stream whose token has expired. */
  readonly decisions?: Pick<Decisions, "ended"> | undefined;
}

/** Token authentication on top of connections that certificates admit. */
export class TokenLayer implements Task {
  /** To be passed in the server's `gates`. */
  readonly gate: (context: CallContext) => void;
  readonly #keys: TokenKeyFiles;
  readonly #verifier: TokenVerifier;
  readonly #leases: TokenLeases;
  readonly #options: TokenLayerOptions;

  constructor({ clock, logger, tls, decisions }: TokenLayerDeps, options: TokenLayerOptions) {
    const { keyFiles, audience, maxTtlMs = MAX_TOKEN_TTL_MS, clockSkewMs = 30_000 } = options;
    this.#options = options;
    this.#keys = new TokenKeyFiles({ clock, logger, onChanged: () => this.#leases.reconsider() }, { files: keyFiles });
    const keys = () => this.#keys.current;
    const verifier = new TokenVerifier({ clock, keys }, { ...options, audience, maxTtlMs, clockSkewMs });
    this.#verifier = verifier;
    this.#leases = new TokenLeases({ clock, holds: (token) => verifier.holds(token) });
    this.gate = tokenGate({ clock, verifier, leases: this.#leases, tls, decisions }, options);
  }

  /**
   * Reads the keys; call it before `run`.
   * @param tls undefined: plaintext
   * @throws DomainError `invalid` for a file that cannot be used, and for an issuer whose CA is ambiguous among those
   * of `tls`
   */
  async load(tls: CheckedTls | undefined): Promise<void> {
    const { keyFiles, clientCertificate } = this.#options;
    const rules = keyFiles.map(({ rule }) => rule);
    if (clientCertificate !== "optional") checkIssuers(rules, tls?.trust.cas ?? []);
    await this.#keys.load();
  }

  /**
   * Notes a valid token for `connection` that arrived on another one: prolongs the streams on `connection` that it
   * admits.
   */
  renew(connection: object, token: VerifiedToken): void {
    this.#leases.shown(connection, token);
  }

  /** The key that verified a token is still in use. */
  holds(token: VerifiedToken): boolean {
    return this.#verifier.holds(token);
  }

  async run(signal: AbortSignal): Promise<void> {
    await runTasks(signal, [this.#keys, this.#leases]);
  }
}
