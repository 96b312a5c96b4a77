import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { WorkQueue } from "../../kube/queue/work-queue.ts";
import type { SecretStore } from "../certificates/secret-store.ts";
import type { ObservedPod } from "../pods/observed-pod.ts";
import { podVerdict } from "../pods/pod-status.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { hasEnded, isStopping, isUnlabelled, keyText, type SessionRecord } from "../pods/session-record.ts";

export interface SessionMountsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pods: SessionPods;
  readonly secrets: Pick<SecretStore, "get">;
  /** Called when a session begins or stops waiting for a Secret. */
  readonly onChanged: (record: SessionRecord) => void;
}

const STEP_MS = 15_000;
const WORKERS = 4;
/**
 * After this time, the certificate of an adopted pod, which is written once the pod exists, should exist, and
 * containers should have started.
 */
const FIRST_LOOK_MS = 5_000;
/** The interval is longer with many waiting pods: ten checks per second in total. */
const LOOK_OF_EACH_MS = 100;

/**
 * Detects that the containers of a pod do not start because a Secret that it mounts is missing. The pod and its status
 * do not show this, only an event of the kubelet.
 */
export class SessionMounts implements Task {
  readonly #deps: SessionMountsDeps;
  readonly #queue: WorkQueue;
  /** The missing Secret of pods that have not started, by pod uid; undefined: none is known. */
  readonly #waiting = new Map<string, string | undefined>();

  constructor(deps: SessionMountsDeps) {
    const { clock, logger, pods } = deps;
    this.#deps = deps;
    const reconcile = (key: string, signal: AbortSignal) => this.#look(key, signal);
    this.#queue = new WorkQueue(
      { clock, logger, reconcile },
      { name: "mounts", workers: WORKERS, timeoutMs: STEP_MS, groups: pods.sharesOf(WORKERS) },
    );
  }

  /** The Secret that the pod waits for; undefined: none is known. */
  missingOf({ pod }: SessionRecord): string | undefined {
    return this.#waiting.get(pod.uid);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pods } = this.#deps;
    const note = (record: SessionRecord) => this.#note(record);
    const forget = pods.listen(({ type, record }) => {
      if (type === "changed") note(record);
      else this.#waiting.delete(record.pod.uid);
    });
    try {
      for (const record of pods.all()) note(record);
      await this.#queue.run(signal);
    } finally {
      forget();
    }
  }

  #note(record: SessionRecord): void {
    const { uid } = record.pod;
    if (!isDue(record)) this.#waiting.delete(uid);
    else if (!this.#waiting.has(uid)) {
      this.#waiting.set(uid, undefined);
      this.#queue.addAfter(keyText(record.key), FIRST_LOOK_MS);
    }
  }

  async #look(key: string, signal: AbortSignal): Promise<void> {
    const { pods, onChanged } = this.#deps;
    const record = pods.at(key);
    if (record === undefined || !isDue(record)) return;
    const missing = await this.#missing(record.pod, signal);
    const now = pods.at(key);
    const { uid } = record.pod;
    if (now?.pod.uid !== uid || !this.#waiting.has(uid)) return;
    const isNews = this.#waiting.get(uid) !== missing;
    this.#waiting.set(uid, missing);
    if (isNews) onChanged(now);
    this.#queue.addAfter(key, Math.max(FIRST_LOOK_MS, this.#waiting.size * LOOK_OF_EACH_MS));
  }

  async #missing({ namespace, mountedSecrets = [] }: ObservedPod, signal: AbortSignal): Promise<string | undefined> {
    for (const name of mountedSecrets) {
      if ((await this.#deps.secrets.get(namespace, name, signal)) === undefined) return name;
    }
    return undefined;
  }
}

/** The pod has been scheduled, and none of its containers has started. */
function isDue(record: SessionRecord): boolean {
  const { pod } = record;
  const { initContainers, containers } = pod.status;
  if (pod.nodeName === "" || pod.mountedSecrets === undefined || isUnlabelled(record)) return false;
  if (hasEnded(record) || isStopping(record)) return false;
  const { status, reason } = podVerdict(pod);
  const hasBegun = [...initContainers, ...containers].some(({ state }) => state.type !== "waiting");
  return status === "starting" && reason === "" && !hasBegun;
}
