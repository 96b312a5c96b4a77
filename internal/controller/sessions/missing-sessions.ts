import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { TokenBucket } from "../../base/token-bucket.ts";
import type { SessionKey } from "../../bridge/session-backend.ts";
import { podName } from "../pods/names.ts";
import type { PodClient } from "../pods/pod-client.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { sessionRecord } from "../pods/session-record.ts";
import type { NamespaceBinding } from "../pods/settings.ts";

export interface MissingSessionsDeps {
  readonly clock: Clock;
  readonly pods: SessionPods;
  readonly client: PodClient;
}

/** How long the API server may take to answer, and the watch to show the same. */
const ANSWER_MS = 1_000;
/** Look-ups for one project: this many without a wait, then one per interval. Beyond that, the watch alone decides. */
const BURST = 40;
const EVERY_MS = 50;

/**
 * Asks the API server for the pod of a session that this replica does not know. Another replica may have started it
 * while a network drops the watch's packets, which is noticed only after seconds.
 */
export class MissingSessions {
  readonly #deps: MissingSessionsDeps;
  readonly #bindings: readonly NamespaceBinding[];
  readonly #budgets: ReadonlyMap<string, TokenBucket>;

  constructor(deps: MissingSessionsDeps, bindings: readonly NamespaceBinding[]) {
    this.#deps = deps;
    this.#bindings = bindings;
    const now = deps.clock.monotonicMs();
    this.#budgets = new Map(bindings.map(({ project }) => [project, new TokenBucket(BURST, EVERY_MS, now)]));
  }

  /**
   * Resolves once the session is known, or is known not to exist as a pod of ours.
   * @throws DomainError `unavailable` when the API server does not answer within a second
   */
  async confirm(key: SessionKey, signal: AbortSignal): Promise<void> {
    const { clock, pods } = this.#deps;
    const budget = this.#budgets.get(key.project);
    if (budget === undefined || budget.fill(clock.monotonicMs()) < 1) return;
    budget.take();
    if (!(await this.#exists(key, signal))) return;
    await pods.until(key, (record) => record !== undefined, ANSWER_MS, signal);
    if (pods.get(key) === undefined) throw unknown();
  }

  async #exists({ project, id }: SessionKey, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#deps;
    const isIn = async (binding: NamespaceBinding) => {
      const pod = await client.get(binding.name, podName(project, id), signal, ANSWER_MS);
      return pod !== undefined && sessionRecord(pod, binding)?.key.id === id;
    };
    try {
      const bindings = this.#bindings.filter((binding) => binding.project === project);
      return (await Promise.all(bindings.map(isIn))).includes(true);
    } catch (err) {
      signal.throwIfAborted();
      throw err instanceof DomainError ? unknown(err) : err;
    }
  }
}

function unknown(cause?: DomainError): DomainError {
  return new DomainError("unavailable", "the API server does not answer: try again", { cause });
}
