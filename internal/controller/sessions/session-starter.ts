import { DomainError } from "../../base/errors.ts";
import { Slots } from "../../base/slots.ts";
import type { Actor, SessionInfo, StartRequest } from "../../bridge/session-backend.ts";
import { isFault, KubeApiError, type KubeFault } from "../../kube/kube-errors.ts";
import { ANNOTATIONS } from "../pods/names.ts";
import type { ObservedPod } from "../pods/observed-pod.ts";
import type { PodClient } from "../pods/pod-client.ts";
import { refusalVerdict } from "../pods/pod-status.ts";
import { type AgentPodPlan, agentPod } from "../pods/pod-template.ts";
import type { SessionPods } from "../pods/session-pods.ts";
import { hasEnded, isOlder, isStopping, optionsOf, type SessionRecord, sessionRecord } from "../pods/session-record.ts";
import type { NamespaceBinding } from "../pods/settings.ts";
import type { SessionOpening } from "./session-opening.ts";
import { type SessionPodOptions, sessionPodPlan } from "./session-pod.ts";
import type { StartLimits } from "./start-limits.ts";

export interface SessionStarterDeps {
  readonly pods: SessionPods;
  readonly client: PodClient;
  readonly limits: StartLimits;
  readonly opening: SessionOpening;
}

export interface SessionStarterOptions extends SessionPodOptions {
  readonly bindings: readonly NamespaceBinding[];
}

/** How long to wait until the watch shows a new pod. */
const SEEN_MS = 2_000;
/**
 * The limit of concurrent starts. More would wait for a connection to the API server, and could exceed the deadlines of
 * their calls.
 */
const AT_A_TIME = 8;

/**
 * Creates a session's pod. Its name follows from project and id, and the scheduler waits until its Secret exists.
 * However often and on whichever replica `start` is called, there is one pod. The leader completes a start that a crash
 * interrupted.
 */
export class SessionStarter {
  readonly #deps: SessionStarterDeps;
  readonly #options: SessionStarterOptions;
  readonly #slots = new Slots(AT_A_TIME);
  /** Slots by project: a project whose pods are admitted slowly leaves some to the others. */
  readonly #ofProject: ReadonlyMap<string, Slots>;

  constructor(deps: SessionStarterDeps, options: SessionStarterOptions) {
    this.#deps = deps;
    this.#options = options;
    const projects = new Set(options.bindings.map(({ project }) => project));
    const each = projects.size > 1 ? AT_A_TIME / 2 : AT_A_TIME;
    this.#ofProject = new Map([...projects].map((project) => [project, new Slots(each)]));
  }

  /** @throws as `SessionBackend.start` */
  async start(request: StartRequest, caller: Actor, signal: AbortSignal): Promise<SessionRecord> {
    const start = () => this.#slots.hold(() => this.#start(request, caller, signal), signal);
    return await (this.#ofProject.get(request.project)?.hold(start, signal) ?? start());
  }

  async #start(request: StartRequest, caller: Actor, signal: AbortSignal): Promise<SessionRecord> {
    const { pods, limits, opening } = this.#deps;
    pods.assertSynced();
    const known = pods.get(request);
    if (known !== undefined) return sameSession(known, request);
    const { bindings: _, ...options } = this.#options;
    const binding = this.#binding(request);
    const plan = sessionPodPlan({ ...request, startedBy: caller.identity }, binding, options);
    limits.assertRoom(request.project);
    const record = recordOf(await this.#create(binding, plan, signal), binding);
    pods.catchUp(request.project); // the API server has just answered: watches that failed retry at once
    sameSession(record, request);
    const older = await this.#olderElsewhere(record, signal);
    if (older !== undefined) {
      await this.#deps.client.delete(record.pod, signal);
      return sameSession(older, request);
    }
    await opening.open(record, signal).catch(async (err: unknown) => {
      throw isFault(err, "not-found") ? deletedMeanwhile() : await this.#refused(record, err, signal);
    });
    await pods.until(request, (each) => each?.pod.uid === record.pod.uid, SEEN_MS, signal);
    return pods.get(request) ?? record;
  }

  /**
   * Maps a refusal of the cluster, e.g. of the pod's Secret, to the caller's error. After a refusal the pod is deleted
   * rather than left waiting.
   */
  async #refused(record: SessionRecord, err: unknown, signal: AbortSignal): Promise<unknown> {
    const refusal = startError(err);
    if (refusal !== err) await this.#deps.client.delete(record.pod, signal);
    return refusal;
  }

  /** The project's first namespace that has the provider; if none has it, the project's first namespace. */
  #binding({ project, provider }: StartRequest): NamespaceBinding {
    const all = this.#options.bindings.filter((each) => each.project === project);
    const binding = all.find(({ templates }) => templates.has(provider)) ?? all[0];
    if (binding !== undefined) return binding;
    throw new DomainError("precondition", `no namespace of the cluster belongs to project ${JSON.stringify(project)}`);
  }

  /**
   * An older pod of the same session in another namespace of the project, created concurrently for a provider there:
   * the name excludes a second pod only within one namespace.
   */
  async #olderElsewhere(record: SessionRecord, signal: AbortSignal): Promise<SessionRecord | undefined> {
    const { key, pod, binding } = record;
    for (const other of this.#options.bindings) {
      if (other === binding || other.project !== key.project || other.templates.size === 0) continue;
      const found = await this.#deps.client.get(other.name, pod.name, signal);
      const same = found && sessionRecord(found, other);
      if (same?.isOwn && isOlder(same, record)) return same;
    }
    return undefined;
  }

  /** Creates the pod of the plan, or returns the existing one. */
  async #create(binding: NamespaceBinding, plan: AgentPodPlan, signal: AbortSignal): Promise<ObservedPod> {
    const { client } = this.#deps;
    try {
      return await client.create(binding.name, agentPod(plan), signal);
    } catch (err) {
      if (!isFault(err, "already-exists")) throw startError(err);
    }
    const pod = await client.get(binding.name, plan.name, signal);
    if (pod !== undefined) return pod;
    throw deletedMeanwhile();
  }
}

function deletedMeanwhile(): DomainError {
  return new DomainError("unavailable", "the session's pod was deleted just now: start it again");
}

function recordOf(pod: ObservedPod, binding: NamespaceBinding): SessionRecord {
  const record = sessionRecord(pod, binding);
  if (record?.isOwn) return record;
  throw new DomainError("precondition", `pod ${pod.name} was not created by a controller and is in the way`);
}

/**
 * @throws DomainError `already-exists` for other parameters, `precondition` for a session that has ended or is ending
 */
function sameSession(record: SessionRecord, request: StartRequest): SessionRecord {
  const { key, pod } = record;
  const quoted = JSON.stringify(request.id);
  if (hasEnded(record) || isStopping(record) || pod.deletedAt !== undefined) {
    throw new DomainError("precondition", `session ${quoted} has ended and is still kept`);
  }
  const isSame =
    key.id === request.id &&
    record.isOwn &&
    pod.labels["gastown.io/provider"] === request.provider &&
    pod.annotations[ANNOTATIONS.repoPath] === request.repoPath &&
    sorted(optionsOf(pod)) === sorted(request.agentOpts);
  if (isSame) return record;
  throw new DomainError("already-exists", `session ${quoted} exists with other parameters`);
}

function sorted(options: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(options).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** `not-found`: there is no such namespace. */
const REFUSALS: readonly KubeFault[] = ["forbidden", "invalid", "not-found"];

/** Maps a refusal of the cluster to the error of StartSession. */
function startError(err: unknown): unknown {
  if (!(err instanceof KubeApiError) || !REFUSALS.includes(err.fault)) return err;
  const { reason, error } = refusalVerdict(err.status, err.answer);
  const kind = reason === "QuotaExceeded" ? "exhausted" : "precondition";
  return new DomainError(kind, `cannot start the session: ${error}`, { fields: { reason }, cause: err });
}

/** A failed session is kept until someone stops it, since the cluster may still get it running. */
export function assertNotFailed({ id, status, error, reason }: SessionInfo): void {
  if (status !== "failed") return;
  const why = error === "" ? "" : `: ${error}`;
  throw new DomainError("precondition", `session ${JSON.stringify(id)} has failed and is still kept${why}`, {
    fields: { status, reason },
  });
}
