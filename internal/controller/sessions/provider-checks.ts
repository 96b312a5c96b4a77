import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { errorText } from "../../base/errors.ts";
import type { ProviderInfo } from "../../bridge/session-backend.ts";
import { isFault, KubeApiError } from "../../kube/kube-errors.ts";
import { WORKSPACE } from "../pods/agent-template.ts";
import type { PodClient } from "../pods/pod-client.ts";
import { type PodVerdict, refusalVerdict } from "../pods/pod-status.ts";
import { agentPod } from "../pods/pod-template.ts";
import type { NamespaceBinding } from "../pods/settings.ts";
import { type SessionPodOptions, sessionPodPlan } from "./session-pod.ts";

export interface ProviderChecksDeps {
  readonly clock: Clock;
  readonly client: Pick<PodClient, "tryCreate">;
}

export interface ProviderChecksOptions extends SessionPodOptions {
  readonly bindings: readonly NamespaceBinding[];
}

interface Check {
  /** Monotonic, ms; Infinity while the check is running. */
  readonly until: number;
  readonly outcome: Promise<PodVerdict | undefined>;
}

/** Results expire, because quotas, policies and labels of the namespace change without notice. */
const GOOD_MS = 60_000;
const BAD_MS = 5_000;
const ID = "provider-check";
const FAILED = Symbol("failed");
const NEVER = new AbortController().signal;

/**
 * The providers of a project: those for which its namespaces have a template. A provider is available if the cluster
 * would accept its pod now, which a dry run checks, including admission and quota.
 */
export class ProviderChecks {
  readonly #deps: ProviderChecksDeps;
  readonly #options: ProviderChecksOptions;
  /** By namespace and provider. */
  readonly #checks = new Map<string, Check>();

  constructor(deps: ProviderChecksDeps, options: ProviderChecksOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async of(project: string, signal: AbortSignal): Promise<readonly ProviderInfo[]> {
    const bindings = this.#options.bindings.filter((binding) => binding.project === project);
    // Sessions start in the first namespace that has the template.
    const places = new Map<string, NamespaceBinding>();
    for (const binding of bindings) {
      for (const provider of binding.templates.keys()) if (!places.has(provider)) places.set(provider, binding);
    }
    const byName = [...places].sort(([a], [b]) => (a < b ? -1 : 1));
    return await Promise.all(byName.map(([provider, binding]) => this.#info(provider, binding, signal)));
  }

  /** Drops the results of a project after a refused start: they may be outdated. */
  forget(project: string): void {
    for (const binding of this.#options.bindings.filter((each) => each.project === project)) {
      for (const provider of binding.templates.keys()) this.#checks.delete(`${binding.name}/${provider}`);
    }
  }

  async #info(provider: string, binding: NamespaceBinding, signal: AbortSignal): Promise<ProviderInfo> {
    const template = binding.templates.get(provider);
    const about = { provider, version: "", binary: template?.image ?? "", capabilities: ["terminal"] } as const;
    try {
      const refusal = await this.#checked(provider, binding, signal);
      if (refusal === undefined) return { ...about, available: true, error: "" };
      return { ...about, available: false, error: `${refusal.reason}: ${refusal.error}` };
    } catch (err) {
      signal.throwIfAborted();
      return { ...about, available: false, error: errorText(err) };
    }
  }

  async #checked(provider: string, binding: NamespaceBinding, signal: AbortSignal): Promise<PodVerdict | undefined> {
    const key = `${binding.name}/${provider}`;
    const known = this.#checks.get(key);
    if (known !== undefined && this.#deps.clock.monotonicMs() < known.until) {
      return await raceSignal(known.outcome, signal);
    }
    const outcome = this.#ask(provider, binding);
    this.#checks.set(key, { until: Number.POSITIVE_INFINITY, outcome });
    void this.#settle(key, outcome);
    return await raceSignal(outcome, signal);
  }

  /** A result expires some time after it is known, unless it was dropped meanwhile. */
  async #settle(key: string, outcome: Check["outcome"]): Promise<void> {
    const refusal = await outcome.catch(() => FAILED);
    if (this.#checks.get(key)?.outcome !== outcome) return;
    if (refusal === FAILED) this.#checks.delete(key);
    else this.#checks.set(key, { until: this.#deps.clock.monotonicMs() + (refusal ? BAD_MS : GOOD_MS), outcome });
  }

  /**
   * Why the cluster would refuse the pod; undefined: the cluster would accept it. Shared by all waiting callers, so no
   * caller can cancel it.
   */
  async #ask(provider: string, binding: NamespaceBinding): Promise<PodVerdict | undefined> {
    const { bindings: _, ...options } = this.#options;
    const session = { id: ID, provider, repoPath: WORKSPACE, agentOpts: {}, startedBy: "gt-controller" };
    const plan = sessionPodPlan(session, binding, options);
    try {
      await this.#deps.client.tryCreate(binding.name, agentPod(plan), NEVER);
      return undefined;
    } catch (err) {
      if (isFault(err, "already-exists")) return undefined; // a session of this name exists: the cluster accepted it
      const isRefusal = isFault(err, "forbidden") || isFault(err, "invalid") || isFault(err, "not-found");
      if (!isRefusal || !(err instanceof KubeApiError)) throw err;
      return refusalVerdict(err.status, err.answer);
    }
  }
}
