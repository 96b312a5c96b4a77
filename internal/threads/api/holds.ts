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

/** Ends what a token has let in when the token ends, its key is removed or it is revoked: within 5 s. */
export class TokenHolds implements Task {
  readonly #deps: {
    readonly clock: Clock;
    readonly logger: Logger;
    /** The key that a token was checked with is still in use. */
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

  /** @throws DomainError `unauthenticated`, code UNAUTHORIZED, for a token that is revoked or has ended */
  check(proof: Proof): void {
    const why = this.#endOf(proof);
    if (why !== undefined) throw why;
  }

  /** Calls `end` once, when the token counts no longer. To be disposed when what it let in is over. */
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
