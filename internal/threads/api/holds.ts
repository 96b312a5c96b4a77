import type { VerifiedToken } from "../../auth/token-verifier.ts";
import type { Clock } from "../../base/clock.ts";
import type { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { threadsError } from "../domain/faults.ts";
import type { Store } from "../domain/store.ts";
import type { Proof } from "./claims.ts";

const LOOK_MS = 1000;
const REVOKED_EVERY = 2;

interface Held {
  readonly proof: Proof;
  readonly end: (why: DomainError) => void;
}

/** Ends calls and streams within 5 s after their token expires or is revoked, or its key is removed. */
export class TokenHolds implements Task {
  readonly #deps: {
    readonly clock: Clock;
    readonly logger: Logger;
    /** Whether the key that verified a token is still in use. */
    readonly isKeyInUse: (token: VerifiedToken) => boolean;
    readonly store: Pick<Store, "revoked">;
  };
  readonly #held = new Set<Held>();
  #revoked: ReadonlySet<string> = new Set();

  constructor(deps: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly isKeyInUse: (token: VerifiedToken) => boolean;
    readonly store: Pick<Store, "revoked">;
  }) {
    this.#deps = deps;
  }

  /**
   * Checks a token.
   * @throws DomainError `unauthenticated`, code UNAUTHORIZED, if it is revoked or expired, or its key is removed
   */
  check(proof: Proof): void {
    const why = this.#endOf(proof);
    if (why !== undefined) throw why;
  }

  /** Calls `end` once, when the token becomes invalid. Dispose of the result when the call or stream is over. */
  hold(proof: Proof, end: (why: DomainError) => void): Disposable {
    const held = { proof, end };
    this.#held.add(held);
    return { [Symbol.dispose]: () => void this.#held.delete(held) };
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let turn = 0; !signal.aborted; turn++) {
      if (turn % REVOKED_EVERY === 0) await this.#readRevoked();
      for (const held of [...this.#held]) {
        const why = this.#endOf(held.proof);
        if (why === undefined) continue;
        this.#held.delete(held);
        held.end(why);
      }
      await this.#deps.clock.sleep(LOOK_MS, signal).catch(() => {});
    }
  }

  async #readRevoked(): Promise<void> {
    try {
      this.#revoked = await this.#deps.store.revoked();
    } catch (err) {
      this.#deps.logger.warn({ err }, "the list of revoked tokens cannot be read: the last one stays in use");
    }
  }

  #endOf(proof: Proof): DomainError | undefined {
    const { workspace, jti, session, expiresAt, token } = proof;
    if (this.#revoked.has(`${workspace} jti ${jti}`) || this.#revoked.has(`${workspace} session ${session}`)) {
      return threadsError("UNAUTHORIZED", "the token has been revoked");
    }
    if (expiresAt <= this.#deps.clock.now()) return threadsError("UNAUTHORIZED", "the token has expired");
    if (this.#deps.isKeyInUse(token)) return undefined;
    return threadsError("UNAUTHORIZED", "the token's key is not in use any more");
  }
}
