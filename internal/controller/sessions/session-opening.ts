import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { CertificateReconciler } from "../certificates/certificate-reconciler.ts";
import type { TokenSecrets } from "../certificates/token-secrets.ts";
import type { PodClient } from "../pods/pod-client.ts";
import { isSecured, isWaiting, type SessionRecord, secretNameOf } from "../pods/session-record.ts";
import type { StartLimits } from "./start-limits.ts";

export interface SessionOpeningDeps {
  readonly clock: Clock;
  readonly client: PodClient;
  readonly limits: StartLimits;
  readonly certificates: CertificateReconciler;
  /** Absent: agents get no tokens. */
  readonly tokens?: TokenSecrets | undefined;
}

/**
 * The number of attempts, in case another replica does the same or an old Secret is being deleted. After these, the
 * leader takes over.
 */
const LOOKS = 4;
const BETWEEN_LOOKS_MS = 50;

/**
 * Takes a new pod past its scheduling gate: checks the limits, then creates the token and the certificate. Run by the
 * replica that created the pod, and by the leader after a crash.
 */
export class SessionOpening {
  readonly #deps: SessionOpeningDeps;

  constructor(deps: SessionOpeningDeps) {
    this.#deps = deps;
  }

  /** @throws DomainError `exhausted` if there are too many sessions; a pod of ours has then been deleted again */
  async open(record: SessionRecord, signal: AbortSignal): Promise<void> {
    const { limits, client } = this.#deps;
    try {
      if (isWaiting(record) || !isSecured(record)) await limits.confirm(record, signal);
    } catch (err) {
      const isTooMany = err instanceof DomainError && err.kind === "exhausted";
      if (isTooMany && record.isOwn) await client.delete(record.pod, signal);
      throw err;
    }
    if (isSecured(record)) await this.#certify(record, signal);
  }

  /**
   * Checks the token, which must exist before the pod starts, and the certificate; returns when to check again, in ms.
   */
  async look(record: SessionRecord, signal: AbortSignal): Promise<number> {
    const { key, pod } = record;
    const tokenInMs = (await this.#deps.tokens?.look(record, signal)) ?? Number.POSITIVE_INFINITY;
    const session = { sessionId: key.id, pod, secretName: secretNameOf(record) };
    const { again } = await this.#deps.certificates.reconcile(session, signal);
    return Math.min(again.inMs, tokenInMs);
  }

  /** Deletes the token of a session that has ended. */
  async close(record: SessionRecord, signal: AbortSignal): Promise<void> {
    await this.#deps.tokens?.remove(record, signal);
  }

  async #certify(record: SessionRecord, signal: AbortSignal): Promise<void> {
    for (let looks = 1; looks <= LOOKS; looks++) {
      try {
        if ((await this.look(record, signal)) !== 0) return;
      } catch (err) {
        const isRace = err instanceof DomainError && (err.kind === "already-exists" || err.kind === "precondition");
        if (!isRace || looks === LOOKS) throw err;
      }
      await this.#deps.clock.sleep(BETWEEN_LOOKS_MS * looks, signal);
    }
  }
}
