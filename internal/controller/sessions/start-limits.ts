import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { LABELS } from "../pods/names.ts";
import type { PodClient } from "../pods/pod-client.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { hasEnded, isOlder, isSecured, isWaiting, type SessionRecord, sessionRecord } from "../pods/session-record.ts";
import type { NamespaceBinding, SessionSettings } from "../pods/settings.ts";

export interface StartLimitsDeps {
  readonly clock: Clock;
  readonly pods: SessionPods;
  readonly client: PodClient;
  readonly bindings: readonly NamespaceBinding[];
}

type Limits = Pick<SessionSettings, "maxPerProject" | "maxGlobal">;

/** Closer than this to a limit, this replica's view of other namespaces is not reliable enough. */
const MARGIN = 20;
/** How long to wait until the watch shows the pod. */
const SEEN_MS = 2_000;
/** How long a start waits for the deletion of newer pods; BETWEEN_LOOKS_MS is the interval between checks. */
const WAIT_MS = 10_000;
const BETWEEN_LOOKS_MS = 100;

/**
 * Limits the number of sessions, per project and in total. They are counted when the new pod exists but still waits for
 * its certificate: once the watch shows this pod, it has shown every older pod of the namespace; near a limit, the
 * other relevant namespaces are listed from the API server. A start continues once there is room. If there are too many
 * sessions, the newest pods are deleted, and the other starts wait for that. The limit thus holds with any number of
 * replicas, and as many sessions start as there is room for.
 */
export class StartLimits {
  readonly #deps: StartLimitsDeps;
  readonly #limits: Limits;

  constructor(deps: StartLimitsDeps, limits: Limits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** Checks the limits before a pod is created. @throws DomainError `exhausted` */
  assertRoom(project: string): void {
    this.#assertBelow(countOf(this.#deps.pods.all()), project);
  }

  /**
   * Checks the limits after the pod was created.
   * @throws DomainError `exhausted` if the limit is reached even without the pod,
   * which the caller must then delete
   */
  async confirm(record: SessionRecord, signal: AbortSignal): Promise<void> {
    const { clock, pods } = this.#deps;
    const { project } = record.key;
    await pods.until(record.key, (each) => each?.pod.uid === record.pod.uid, SEEN_MS, signal);
    const isSeen = pods.get(record.key)?.pod.uid === record.pod.uid;
    const known = countOf(pods.all());
    if (isSeen && this.#hasRoom(known, project, MARGIN)) return;
    const isNearAll = known.atMost(this.#limits.maxPerProject) + MARGIN >= this.#limits.maxGlobal;
    const isKnown = ({ name, project: other }: NamespaceBinding) =>
      name === record.pod.namespace ? isSeen : other !== project && !isNearAll;
    const end = clock.monotonicMs() + WAIT_MS;
    for (;;) {
      const others = await this.#others(record, isKnown, signal);
      if (this.#hasRoom(countOf(others), project, 0)) return;
      const isLast = clock.monotonicMs() >= end;
      this.#assertBelow(countOf(isLast ? others : others.filter((each) => isBefore(each, record))), project);
      await clock.sleep(BETWEEN_LOOKS_MS, signal);
    }
  }

  /** `isKnown`: the watch's view of a namespace is reliable enough. */
  async #others(
    { pod }: SessionRecord,
    isKnown: (binding: NamespaceBinding) => boolean,
    signal: AbortSignal,
  ): Promise<readonly SessionRecord[]> {
    const { bindings, client, pods } = this.#deps;
    const lists = await Promise.all(
      bindings.map(async (binding) => {
        if (isKnown(binding)) return [...pods.all()].filter((each) => each.binding === binding);
        const found = await client.list(binding.name, LABELS.agent, signal);
        return found.map((each) => sessionRecord(each, binding)).filter((each) => each !== undefined);
      }),
    );
    return lists.flat().filter((each) => each.pod.uid !== pod.uid);
  }

  #hasRoom(count: Count, project: string, margin: number): boolean {
    const { maxPerProject, maxGlobal } = this.#limits;
    return count.of(project) + margin < maxPerProject && count.atMost(maxPerProject) + margin < maxGlobal;
  }

  /**
   * Counts each project only up to its own limit: its surplus pods will be deleted, which leaves room for other
   * projects.
   */
  #assertBelow(count: Count, project: string): void {
    const { maxPerProject, maxGlobal } = this.#limits;
    if (count.of(project) >= maxPerProject) throw tooMany(`the project has ${maxPerProject} sessions`);
    if (count.atMost(maxPerProject) >= maxGlobal) throw tooMany(`there are ${maxGlobal} sessions`);
  }
}

/** `other` was admitted, or is older. */
function isBefore(other: SessionRecord, record: SessionRecord): boolean {
  return (isSecured(other) && !isWaiting(other)) || isOlder(other, record);
}

interface Count {
  of(project: string): number;
  /** The number of all sessions; each project counts with at most `perProject`. */
  atMost(perProject: number): number;
}

/** Counts the sessions that have not ended. */
function countOf(records: Iterable<SessionRecord>): Count {
  const byProject = new Map<string, number>();
  for (const record of records) {
    if (hasEnded(record)) continue;
    byProject.set(record.key.project, (byProject.get(record.key.project) ?? 0) + 1);
  }
  return {
    of: (project) => byProject.get(project) ?? 0,
    atMost: (limit) => byProject.values().reduce((sum, count) => sum + Math.min(count, limit), 0),
  };
}

function tooMany(what: string): DomainError {
  return new DomainError("exhausted", `cannot start a session: ${what}, which is the limit`);
}
