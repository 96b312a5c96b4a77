import { DomainError } from "../../base/errors.ts";
import { LABELS, MANAGED_BY } from "../pods/names.ts";
import type { PodClient } from "../pods/pod-client.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { hasEnded, type SessionRecord, sessionRecord } from "../pods/session-record.ts";
import type { NamespaceBinding, SessionSettings } from "../pods/settings.ts";

export interface StartLimitsDeps {
  readonly pods: SessionPods;
  readonly client: PodClient;
  readonly bindings: readonly NamespaceBinding[];
}

type Limits = Pick<SessionSettings, "maxPerProject" | "maxGlobal">;

/** Closer than this to a limit, what this replica knows is not enough: others start sessions at the same time. */
const MARGIN = 20;

/**
 * How many sessions there may be, in a project and in all. Far below a limit the replica's own copy decides. Near it
 * the API server is asked after the pod was made, while it still waits for its certificate: a replica that then counts
 * too many takes back its own, so the limit holds with any number of replicas.
 */
export class StartLimits {
  readonly #deps: StartLimitsDeps;
  readonly #limits: Limits;

  constructor(deps: StartLimitsDeps, limits: Limits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** Before a pod is created. @throws DomainError `exhausted` */
  assertRoom(project: string): void {
    this.#assertBelow(this.#known(), project);
  }

  /** After it was created. @throws DomainError `exhausted`: there are too many without it, and it must be deleted */
  async confirm({ key, pod }: SessionRecord, signal: AbortSignal): Promise<void> {
    const { bindings, client } = this.#deps;
    const known = this.#known();
    const { maxPerProject, maxGlobal } = this.#limits;
    const isFar = known.of(key.project) + MARGIN < maxPerProject && known.all + MARGIN < maxGlobal;
    if (isFar) return;
    const selector = `${LABELS.managedBy}=${MANAGED_BY}`;
    const lists = await Promise.all(
      bindings.map(async (binding) => {
        const pods = await client.list(binding.name, selector, signal);
        return pods.map((each) => sessionRecord(each, binding)).filter((each) => each !== undefined);
      }),
    );
    this.#assertBelow(countOf(lists.flat().filter((each) => each.pod.uid !== pod.uid)), key.project);
  }

  #known(): Count {
    return countOf(this.#deps.pods.all());
  }

  #assertBelow(count: Count, project: string): void {
    const { maxPerProject, maxGlobal } = this.#limits;
    if (count.of(project) >= maxPerProject) throw tooMany(`the project has ${maxPerProject} sessions`);
    if (count.all >= maxGlobal) throw tooMany(`there are ${maxGlobal} sessions`);
  }
}

interface Count {
  readonly all: number;
  of(project: string): number;
}

/** Sessions that have ended are kept, and count no more. */
function countOf(records: Iterable<SessionRecord>): Count {
  const byProject = new Map<string, number>();
  let all = 0;
  for (const record of records) {
    if (hasEnded(record)) continue;
    all++;
    byProject.set(record.key.project, (byProject.get(record.key.project) ?? 0) + 1);
  }
  return { all, of: (project) => byProject.get(project) ?? 0 };
}

function tooMany(what: string): DomainError {
  return new DomainError("exhausted", `cannot start a session: ${what}, which is the limit`);
}
