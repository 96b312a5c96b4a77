import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Task } from "../../base/task-group.ts";
import type { CaSettings } from "../pods/settings.ts";
import { nextRotation, type RotationState, type RotationStep } from "./ca-rotation.ts";
import { afterStep, type CaMaterial, type CaSecretData, clientsOfPrevious, readCaSecret } from "./ca-secret.ts";
import type { ObservedSecret } from "./certificate-policies.ts";
import type { EventNote, ObjectEvents } from "./object-events.ts";
import type { RotationReports } from "./rotation-reports.ts";
import type { SecretStore } from "./secret-store.ts";

export interface CaRotatorDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A store whose writes require leadership. */
  readonly secrets: Pick<SecretStore, "get" | "patch">;
  readonly reports: Pick<RotationReports, "collect">;
  /** All pods and Secrets have been listed. */
  readonly isSynced: () => boolean;
  /** Called after the CA's Secret was written. */
  readonly onWritten: () => void;
  /** Reports progress to people who inspect the cluster. */
  readonly events: ObjectEvents;
}

/** Progress of the CA's replacement. */
export interface RotationStatus {
  readonly phase: RotationState["type"];
  /** The sessions, or CAs of clients, that delay the next step. */
  readonly waitingFor: readonly string[];
}

const BUSY_LOOK_MS = 1_000;
const MAX_WAIT_MS = 15_000;
const IDLE_LOOK_MS = 60_000;
/** A step lasts at least this many reads of the CA's Secret, so that every serving replica has seen it. */
const READS_OF_A_STEP = 3;
/** Interval of warnings about what delays a step. */
const REMIND_MS = 300_000;
const NAMED = 10;

/**
 * Advances the replacement of the CA, on the leading replica. The progress is stored in the CA's Secret alone, so a new
 * leader continues wherever the previous one stopped. Each step is a single write with the observed state as its
 * precondition.
 */
export class CaRotator implements Task {
  readonly #deps: CaRotatorDeps;
  readonly #ca: CaSettings;
  readonly #wake = new SignalBus();
  #status: RotationStatus = { phase: "steady", waitingFor: [] };
  /** The last state seen; `at` and `remindAt` are monotonic, ms. */
  #seen = { text: "", at: 0, remindAt: 0 };

  constructor(deps: CaRotatorDeps, ca: CaSettings) {
    this.#deps = deps;
    this.#ca = ca;
  }

  get status(): RotationStatus {
    return this.#status;
  }

  /** Checks now, because the CA's Secret has changed. */
  look(): void {
    this.#wake.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    this.#seen = { text: "", at: 0, remindAt: 0 };
    while (!signal.aborted) {
      try {
        await this.#wake.nextOrAfter(await this.#look(signal), clock, signal);
      } catch (err) {
        if (signal.aborted) return;
        logger.warn({ err }, "cannot continue the replacement of the CA: trying again");
        await clock.sleep(this.#ca.reloadMs, signal).catch(() => {});
      }
    }
  }

  /** Checks once and takes at most one step; returns how long to wait before the next check, ms. */
  async #look(signal: AbortSignal): Promise<number> {
    const { clock, secrets, isSynced } = this.#deps;
    const secret = await secrets.get(this.#ca.namespace, this.#ca.secret, signal);
    if (secret === undefined) return IDLE_LOOK_MS;
    const ca = readCaSecret(secret.data, clock.now());
    const isNew = await this.#notice(ca.state, secret, signal);
    if (ca.state.type === "steady") {
      this.#status = { phase: "steady", waitingFor: [] };
      return IDLE_LOOK_MS;
    }
    if (isNew || !isSynced() || this.#keptMs() > 0) return Math.max(BUSY_LOOK_MS, Math.min(this.#keptMs(), 5_000));
    let step = await this.#next(ca, secret.data, false, signal);
    if (isStep(step, ca.state)) step = await this.#next(ca, secret.data, true, signal);
    this.#status = { phase: ca.state.type, waitingFor: step.waitingFor };
    if (isStep(step, ca.state)) {
      await this.#take(secret, step.state, signal);
      return BUSY_LOOK_MS;
    }
    await this.#remind(ca.state, step.waitingFor, secret, signal);
    return step.waitingFor.length > 0 ? this.#waitMs() : Math.min(IDLE_LOOK_MS, this.#ca.reloadMs);
  }

  /** Reports a state that was not seen before, and begins its minimum time, whichever replica wrote it. */
  async #notice(state: RotationState, secret: ObservedSecret, signal: AbortSignal): Promise<boolean> {
    const text = JSON.stringify(state);
    if (text === this.#seen.text) return false;
    const isFirst = this.#seen.text === "";
    const at = this.#deps.clock.monotonicMs();
    this.#seen = { text, at, remindAt: at + REMIND_MS };
    this.#status = { phase: state.type, waitingFor: [] };
    if (isFirst && state.type === "steady") return true;
    this.#deps.logger.info({ rotation: state }, "replacement of the CA");
    await this.#tell({ type: "Normal", ...PHASE_NOTES[state.type] }, secret, signal);
    return true;
  }

  #keptMs(): number {
    return this.#seen.at + READS_OF_A_STEP * this.#ca.reloadMs - this.#deps.clock.monotonicMs();
  }

  /** Intervals grow: a sidecar that has been late for long will hardly follow within the next second. */
  #waitMs(): number {
    const waited = this.#deps.clock.monotonicMs() - this.#seen.at;
    return Math.max(BUSY_LOOK_MS, Math.min(waited / 10, MAX_WAIT_MS));
  }

  async #next(ca: CaMaterial, data: CaSecretData, afresh: boolean, signal: AbortSignal): Promise<RotationStep> {
    const { clock, reports } = this.#deps;
    const phase = { state: ca.state, signerName: ca.signer.certificate.subject };
    const all = await reports.collect(phase, { afresh }, signal);
    const step = nextRotation(ca.state, all, clock.now(), { callersMs: this.#ca.keepPreviousMs });
    const clients = isStep(step, ca.state) ? clientsOfPrevious(data, ca.state) : [];
    return clients.length > 0 ? { state: ca.state, waitingFor: clients.map((name) => `clients.crt: ${name}`) } : step;
  }

  async #take(secret: ObservedSecret, state: RotationState, signal: AbortSignal): Promise<void> {
    const { secrets, onWritten } = this.#deps;
    const { namespace, secret: name } = this.#ca;
    await secrets.patch(namespace, name, changesOf(secret.data, afterStep(secret.data, state)), secret, signal);
    onWritten();
  }

  async #remind(
    { type }: RotationState,
    waitingFor: readonly string[],
    secret: ObservedSecret,
    signal: AbortSignal,
  ): Promise<void> {
    const now = this.#deps.clock.monotonicMs();
    if (waitingFor.length === 0 || now < this.#seen.remindAt) return;
    this.#seen = { ...this.#seen, remindAt: now + REMIND_MS };
    const first = waitingFor.slice(0, NAMED).join(", ");
    const more = waitingFor.length > NAMED ? ` and ${waitingFor.length - NAMED} more` : "";
    this.#deps.logger.warn({ phase: type, waiting_for: waitingFor.slice(0, NAMED) }, "replacement of the CA waits");
    const message = `${type}: waits for ${first}${more}`;
    await this.#tell({ type: "Warning", reason: "CaRotationWaits", message }, secret, signal);
  }

  #tell(note: EventNote, { uid }: ObservedSecret, signal: AbortSignal): Promise<void> {
    const { namespace, secret: name } = this.#ca;
    return this.#deps.events.tell({ kind: "Secret", namespace, name, uid }, note, signal);
  }
}

/** The keys that differ, with their new values; undefined: remove the key. */
export function changesOf(before: CaSecretData, after: CaSecretData): Readonly<Record<string, string | undefined>> {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries([...keys].filter((key) => before[key] !== after[key]).map((key) => [key, after[key]]));
}

function isStep(step: RotationStep, state: RotationState): boolean {
  return step.state.type !== state.type;
}

const PHASE_NOTES: Readonly<Record<RotationState["type"], Pick<EventNote, "reason" | "message">>> = {
  introducing: { reason: "CaRotationBegan", message: "the new CA is added to every bundle; the old one signs" },
  reissuing: { reason: "CaSignerChanged", message: "the new CA signs; every certificate is reissued" },
  retiring: { reason: "CaRetiring", message: "the old CA is removed from every bundle" },
  steady: { reason: "CaRotationDone", message: "the old CA is no longer trusted" },
};
