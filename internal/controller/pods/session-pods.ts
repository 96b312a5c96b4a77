import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { SessionKey } from "../../bridge/session-backend.ts";
import type { KubeApi } from "../../kube/kube-api.ts";
import type { Delta } from "../../kube/object-store.ts";
import type { KeyGroups } from "../../kube/queue/work-queue.ts";
import { Reflector, type ReflectorCounts } from "../../kube/reflector.ts";

import { LABELS } from "./names.ts";
import { type ObservedPod, observePod } from "./observed-pod.ts";
import { podsPath } from "./pod-client.ts";
import {
  hasEnded,
  isOlder,
  isUnlabelled,
  keyText,
  projectOf,
  type SessionRecord,
  sessionRecord,
} from "./session-record.ts";
import type { NamespaceBinding } from "./settings.ts";

export interface SessionPodsDeps {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

/** `gone`: the pod was deleted. If its session has another pod, a `changed` with that pod follows at once. */
export type SessionPodListener = (change: {
  readonly type: "changed" | "gone";
  readonly record: SessionRecord;
}) => void;

/**
 * The sessions of the cluster's pods as this replica knows them now: a watch of each bound namespace, with an index.
 */
export class SessionPods implements Task {
  readonly #clock: Clock;
  readonly #reflectors: readonly Reflector<ObservedPod>[];
  /** The project of each reflector. */
  readonly #projects: readonly string[];
  readonly #bindings: readonly NamespaceBinding[];
  readonly #changed = new SignalBus();
  readonly #listeners = new Set<SessionPodListener>();
  /** By project and id; if several pods have the same id, the first is the session's. */
  readonly #sessions = new Map<string, readonly SessionRecord[]>();

  constructor(deps: SessionPodsDeps, bindings: readonly NamespaceBinding[]) {
    this.#clock = deps.clock;
    this.#bindings = bindings;
    const watched = bindings.flatMap((binding) => selectorsOf(binding).map((selector) => ({ binding, selector })));
    this.#projects = watched.map(({ binding }) => binding.project);
    this.#reflectors = watched.map(({ binding, selector }) => {
      const onDelta = (delta: Delta<ObservedPod>) => this.#take(delta, binding);
      const pods = { path: podsPath(binding.name), labelSelector: selector, project: observePod };
      return new Reflector({ ...deps, onDelta }, pods);
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await runTasks(signal, this.#reflectors);
  }

  /** Every namespace has been listed. */
  get isSynced(): boolean {
    return this.#reflectors.every(({ isSynced }) => isSynced);
  }

  /** Time since the API server was last heard from, ms, for the namespace that has been silent longest. */
  get staleMs(): number {
    return Math.max(0, ...this.#reflectors.map(({ staleMs }) => staleMs));
  }

  get counts(): readonly ReflectorCounts[] {
    return this.#reflectors.map(({ counts }) => counts);
  }

  /**
   * Groups of a queue by project. With several projects, none gets more than half of the workers: a project may control
   * its pods and the programs that answer there.
   */
  sharesOf(workers: number): KeyGroups {
    const projects = new Set(this.#bindings.map(({ project }) => project));
    return { of: projectOf, workersOfOne: projects.size > 1 ? workers / 2 : workers };
  }

  get(key: SessionKey): SessionRecord | undefined {
    return this.at(keyText(key));
  }

  /** Finds a session by the `keyText` of its key. */
  at(key: string): SessionRecord | undefined {
    return this.#sessions.get(key)?.[0];
  }

  *all(): Generator<SessionRecord> {
    for (const [first] of this.#sessions.values()) if (first !== undefined) yield first;
  }

  /** Calls `listener` at each change until the returned function is called. The listener must not throw. */
  listen(listener: SessionPodListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when the session satisfies `holds`, or after `ms`. */
  async until(key: SessionKey, holds: (record: SessionRecord | undefined) => boolean, ms: number, signal: AbortSignal) {
    const end = this.#clock.monotonicMs() + ms;
    for (let left = ms; left > 0 && !holds(this.get(key)); left = end - this.#clock.monotonicMs()) {
      await this.#changed.nextOrAfter(left, this.#clock, signal);
    }
  }

  /** @throws DomainError `unavailable` before the first list of the cluster */
  assertSynced(): void {
    if (!this.isSynced) throw new DomainError("unavailable", "the controller has not read the cluster yet");
  }

  /**
   * Ensures that a session which is unknown here does not exist.
   * @throws DomainError `unavailable` while the API server does not answer: another replica may have started the
   * session
   */
  assertFollows(project: string): void {
    this.assertSynced();
    if (this.catchUp(project)) throw new DomainError("unavailable", "the API server does not answer: try again");
  }

  /**
   * Retries soon in the project's namespaces for which the API server does not answer; returns whether there are any.
   */
  catchUp(project: string): boolean {
    const away = this.#reflectors.filter((each, i) => each.isAway && this.#projects[i] === project);
    for (const each of away) each.hurry();
    return away.length > 0;
  }

  #take(delta: Delta<ObservedPod>, binding: NamespaceBinding): void {
    if (delta.type === "changed") this.#drop(delta.before.value, binding);
    const pod = delta.object.value;
    const record = sessionRecord(pod, binding);
    if (delta.type === "removed") this.#drop(pod, binding);
    else if (record !== undefined) this.#insert(record);
    if (record === undefined) return;
    const kept = this.get(record.key);
    if (delta.type === "removed") this.#tell("gone", record);
    if (kept !== undefined) this.#tell("changed", kept);
    this.#changed.notify();
  }

  #tell(type: "changed" | "gone", record: SessionRecord): void {
    for (const listener of this.#listeners) listener({ type, record });
  }

  #insert(record: SessionRecord): void {
    const records = [...(this.#sessions.get(keyText(record.key)) ?? []), record];
    this.#sessions.set(keyText(record.key), records.sort(byPrecedence));
  }

  #drop(pod: ObservedPod, binding: NamespaceBinding): void {
    const record = sessionRecord(pod, binding);
    if (record === undefined) return;
    const rest = (this.#sessions.get(keyText(record.key)) ?? []).filter((each) => each.pod.uid !== pod.uid);
    if (rest.length === 0) this.#sessions.delete(keyText(record.key));
    else this.#sessions.set(keyText(record.key), rest);
  }
}

/**
 * Pods with a session's label but without the agent's are watched, too, because they hang without a certificate and the
 * session must show why.
 */
function selectorsOf({ adoption, credentials }: NamespaceBinding): readonly string[] {
  const isShown = adoption !== undefined && credentials === "secret";
  return isShown ? [LABELS.agent, `${LABELS.session},!${LABELS.agent}`] : [LABELS.agent];
}

/**
 * A pod that only claims a session's id never replaces the session's own pod. Order: our own pods, pods with all labels
 * for adoption, pods that have not ended (an evicted pod stays while its Deployment replaces it), the oldest.
 */
function byPrecedence(a: SessionRecord, b: SessionRecord): number {
  if (a.isOwn !== b.isOwn) return a.isOwn ? -1 : 1;
  if (isUnlabelled(a) !== isUnlabelled(b)) return isUnlabelled(a) ? 1 : -1;
  if (hasEnded(a) !== hasEnded(b)) return hasEnded(a) ? 1 : -1;
  return isOlder(a, b) ? -1 : 1;
}
