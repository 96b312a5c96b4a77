import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { ANNOTATIONS } from "../pods/names.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { isOver, type SessionRecord } from "../pods/session-record.ts";
import type { SidecarPool } from "../pods/sidecar-pool.ts";
import { sidecarStatus } from "../pods/sidecar-status.ts";
import { hasFollowed, type RotationState, type SidecarReport } from "./ca-rotation.ts";
import type { SecretFacts, SessionSecrets } from "./session-secrets.ts";

export interface RotationReportsDeps {
  readonly clock: Clock;
  readonly pods: Pick<SessionPods, "all" | "get">;
  readonly secrets: Pick<SessionSecrets, "of">;
  readonly pool: Pick<SidecarPool, "link">;
}

/** The state of a replacement, and the name of the signing CA. */
export interface RotationPhase {
  readonly state: RotationState;
  readonly signerName: string;
}

/** The most sidecars to ask concurrently. */
const ASKED_AT_ONCE = 16;

/**
 * Determines the CAs that each session's sidecar uses: from its Status if it is serving, else from the Secret with
 * which it will start.
 */
export class RotationReports {
  readonly #deps: RotationReportsDeps;
  /** By pod uid: sidecars that have followed the state are not asked again before the next step. */
  readonly #followed = new Map<string, SidecarReport>();
  #phase = "";

  constructor(deps: RotationReportsDeps) {
    this.#deps = deps;
  }

  /** One report for each live session with a certificate. `afresh`: also asks the sidecars again that have followed. */
  async collect(
    phase: RotationPhase,
    { afresh }: { readonly afresh: boolean },
    signal: AbortSignal,
  ): Promise<readonly SidecarReport[]> {
    const text = JSON.stringify(phase.state);
    if (afresh || text !== this.#phase) this.#followed.clear();
    this.#phase = text;
    const live = [...this.#deps.pods.all()].filter((record) => isConcerned(record, this.#deps.secrets.of(record)));
    const uids = new Set(live.map(({ pod }) => pod.uid));
    for (const uid of this.#followed.keys()) if (!uids.has(uid)) this.#followed.delete(uid);
    const left = live.filter(({ pod }) => !this.#followed.has(pod.uid));
    const asked: SidecarReport[] = [];
    const ask = async () => {
      for (let record = left.pop(); record !== undefined && !signal.aborted; record = left.pop()) {
        if (this.#deps.pods.get(record.key)?.pod.uid !== record.pod.uid) continue; // gone meanwhile
        const report = await this.#reportOf(record, phase, signal);
        if (hasFollowed(phase.state, report)) this.#followed.set(record.pod.uid, report);
        else asked.push(report);
      }
    };
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, ask));
    signal.throwIfAborted();
    return [...this.#followed.values(), ...asked];
  }

  async #reportOf(record: SessionRecord, phase: RotationPhase, signal: AbortSignal): Promise<SidecarReport> {
    const session = `${record.key.project}/${record.key.id}`;
    const secret = this.#deps.secrets.of(record);
    const issuerOf = (facts: SecretFacts | undefined) =>
      facts !== undefined && facts.issuer === phase.signerName && phase.state.type !== "introducing"
        ? phase.state.current
        : undefined;
    // Not started: the containers will mount the Secret as it is when they start.
    if (!hasStarted(record)) return { session, caSha256: secret?.caSha256, issuer: issuerOf(secret) };
    const inUse = await this.#ask(record, signal);
    const isNewest = inUse !== undefined && inUse.tlsSerial !== "" && inUse.tlsSerial === secret?.serial;
    return { session, caSha256: inUse?.caSha256, issuer: isNewest ? issuerOf(secret) : undefined };
  }

  /** Undefined: the sidecar did not answer. */
  async #ask(record: SessionRecord, signal: AbortSignal) {
    const { clock, pool } = this.#deps;
    try {
      return await sidecarStatus(pool.link(record), clock, signal);
    } catch (err) {
      if (signal.aborted || !(err instanceof DomainError)) throw err;
      return undefined;
    }
  }
}

/**
 * False for pods that are ending, which receive no new Secret, and for pods that never had one: those in plaintext, and
 * those whose Secret's name is taken.
 */
function isConcerned({ pod, binding }: SessionRecord, secret: SecretFacts | undefined): boolean {
  const isCertified = secret !== undefined || pod.annotations[ANNOTATIONS.certSerial] !== undefined;
  return binding.credentials === "secret" && isCertified && !isOver(pod) && pod.deletedAt === undefined;
}

function hasStarted({ pod }: SessionRecord): boolean {
  return pod.status.containers.some(({ started, state }) => started || state.type === "running");
}
