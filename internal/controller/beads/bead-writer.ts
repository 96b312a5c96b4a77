import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { type BeadDeps, lookUpBead } from "../../beads/bead.ts";
import { type BeadMetadata, writeBead } from "../../beads/write-bead.ts";
import { WorkQueue } from "../../kube/queue/work-queue.ts";
import { LABELS } from "../pods/names.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { isOlder, isStopping, keyIn, keyText, type SessionRecord, sidecarOf } from "../pods/session-record.ts";

export interface BeadWriterDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: Pick<SessionPods, "all" | "listen" | "sharesOf">;
  readonly bd: BeadDeps;
  /** To be called right before each write. @throws DomainError if another replica may be writing */
  readonly assertMayWrite: () => void;
}

/** Each worker runs a program; the beads of one project occupy at most half of them. */
const WORKERS = 4;
const STEP_MS = 60_000;
/** Interval at which a project tries again while it is another project's turn with the same bead. */
const AGAIN_MS = 200;
/** Excludes ids that `bd` would parse as flags. */
const BEAD_ID = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/**
 * The leader's work on beads: while a session lives, the bead that its pod's label names records the sidecar's address.
 * If several sessions name a bead, it belongs to the project of the oldest session, and records that project's
 * youngest. A bead that was changed by others meanwhile is left alone.
 */
export class BeadWriter implements Task {
  readonly #deps: BeadWriterDeps;
  /** Keyed by project and bead, so that a project with many beads, or a slow `bd`, does not delay the others. */
  readonly #queue: WorkQueue;
  /** Beads that are being read or written. */
  readonly #busy = new Set<string>();
  /** The last values written here, by bead. */
  readonly #written = new Map<string, { readonly session: string; readonly host: string }>();

  constructor(deps: BeadWriterDeps) {
    const { clock, logger } = deps;
    this.#deps = deps;
    const reconcile = (key: string, signal: AbortSignal) => this.#turn(key, signal);
    this.#queue = new WorkQueue(
      { clock, logger, reconcile },
      { name: "beads", workers: WORKERS, timeoutMs: STEP_MS, groups: deps.pods.sharesOf(WORKERS) },
    );
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods } = this.#deps;
    const forget = pods.listen(({ record }) => this.#look(record));
    try {
      for (const record of pods.all()) this.#look(record);
      await this.#queue.run(signal);
    } finally {
      forget();
      this.#written.clear(); // the next leader writes
    }
  }

  #look(record: SessionRecord): void {
    const bead = beadOf(record);
    if (bead !== undefined) this.#queue.add(keyText({ project: record.key.project, id: bead }));
  }

  async #turn(key: string, signal: AbortSignal): Promise<void> {
    const { project, id: bead } = keyIn(key);
    if (this.#busy.has(bead)) return this.#queue.addAfter(key, AGAIN_MS);
    this.#busy.add(bead);
    try {
      await this.#reconcile(project, bead, signal);
    } finally {
      this.#busy.delete(bead);
    }
  }

  async #reconcile(project: string, bead: string, signal: AbortSignal): Promise<void> {
    const records = [...this.#deps.pods.all()].filter((record) => beadOf(record) === bead);
    const all = records.filter((record) => sidecarOf(record) !== undefined && !isStopping(record));
    const first = all.reduce<SessionRecord | undefined>((a, b) => (a && !isOlder(b, a) ? a : b), undefined);
    // The bead is written in the turn of the project to which it belongs.
    if (first !== undefined && first.key.project !== project) return this.#look(first);
    const live = all
      .filter(({ key }) => key.project === project)
      .reduce<SessionRecord | undefined>((best, each) => (best && !isYounger(each, best) ? best : each), undefined);
    if (live === undefined) await this.#clear(bead, records, signal);
    else await this.#write(bead, live, signal);
  }

  async #write(bead: string, record: SessionRecord, signal: AbortSignal): Promise<void> {
    const sidecar = sidecarOf(record);
    if (sidecar === undefined) return;
    const { host, port } = sidecar;
    const session = record.key.id;
    const before = this.#written.get(bead);
    if (before?.session === session && before.host === host) return;
    const place = { backend: "k8s", sidecar_host: host, sidecar_port: String(port), sidecar_session: session };
    await this.#put(bead, place, signal);
    this.#written.set(bead, { session, host });
    this.#deps.logger.info({ bead, session }, "bead written");
  }

  async #put(bead: string, place: BeadMetadata, signal: AbortSignal): Promise<void> {
    this.#deps.assertMayWrite();
    await writeBead(bead, place, this.#deps.bd, signal);
  }

  /** Clears a bead only while it still names a session that has ended. */
  async #clear(bead: string, ended: readonly SessionRecord[], signal: AbortSignal): Promise<void> {
    const written = this.#written.get(bead)?.session;
    const sessions = new Set([...ended.filter(hasNoPlace).map(({ key }) => key.id), ...(written ? [written] : [])]);
    if (sessions.size === 0) return;
    const found = await lookUpBead([bead], this.#deps.bd, signal);
    if (found.type === "k8s" && found.session !== undefined && sessions.has(found.session)) {
      await this.#put(bead, {}, signal);
      this.#deps.logger.info({ bead, session: found.session }, "bead cleared");
    }
    this.#written.delete(bead);
  }
}

/** False for a pod that has no address yet: its session has not ended. */
const hasNoPlace = (record: SessionRecord): boolean => isStopping(record) || record.pod.status.podIp !== "";

const isYounger = (a: SessionRecord, b: SessionRecord): boolean => a.pod.createdAt > b.pod.createdAt;

function beadOf({ pod }: SessionRecord): string | undefined {
  const bead = pod.labels[LABELS.bead];
  return bead !== undefined && BEAD_ID.test(bead) ? bead : undefined;
}
