import { X509Certificate } from "node:crypto";
import type { ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../internal/base/clock.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import { runTasks } from "../../../internal/base/task-group.ts";
import type { Actor, StartRequest } from "../../../internal/bridge/session-backend.ts";
import { CertificateReconciler } from "../../../internal/controller/certificates/certificate-reconciler.ts";
import { PodNotesClient } from "../../../internal/controller/certificates/pod-notes-client.ts";
import { SecretClient } from "../../../internal/controller/certificates/secret-client.ts";
import type { IssuingCa } from "../../../internal/controller/certificates/session-certificate.ts";
import {
  type AgentTemplate,
  DEFAULT_RESOURCES,
  DEFAULT_SIDECAR_RESOURCES,
} from "../../../internal/controller/pods/agent-template.ts";
import { PodClient } from "../../../internal/controller/pods/pod-client.ts";
import { SessionPods } from "../../../internal/controller/pods/session-pods.ts";
import type { SessionRecord } from "../../../internal/controller/pods/session-record.ts";
import type { NamespaceBinding } from "../../../internal/controller/pods/settings.ts";
import { SidecarPool } from "../../../internal/controller/pods/sidecar-pool.ts";
import { MissingSessions } from "../../../internal/controller/sessions/missing-sessions.ts";
import { PodSessions } from "../../../internal/controller/sessions/pod-sessions.ts";
import { ProviderChecks } from "../../../internal/controller/sessions/provider-checks.ts";
import { SessionKeeper } from "../../../internal/controller/sessions/session-keeper.ts";
import { SessionLiveness } from "../../../internal/controller/sessions/session-liveness.ts";
import { SessionMounts } from "../../../internal/controller/sessions/session-mounts.ts";
import { SessionOpening } from "../../../internal/controller/sessions/session-opening.ts";
import { SessionStarter } from "../../../internal/controller/sessions/session-starter.ts";
import { SessionStopper } from "../../../internal/controller/sessions/session-stopper.ts";
import { StartLimits } from "../../../internal/controller/sessions/start-limits.ts";
import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { FencedKube } from "../../../internal/kube/fenced-kube.ts";
import type { KubeApi, KubeRequest } from "../../../internal/kube/kube-api.ts";
import { newAuthority } from "../../../internal/pki/authority.ts";
import { newKeyPair } from "../../../internal/pki/key-pair.ts";
import type { SidecarConnection, sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import type { FakeClock } from "../fake-clock.ts";
import { silentLogger } from "../silent-logger.ts";

export const RETENTION_MS = 600_000;
export const caller: Actor = { identity: "shop/ann", role: "operate" };
const TOWN = { trustDomain: "town.example" };

const TEMPLATE: AgentTemplate = {
  image: "agent:1",
  imagePullSecrets: [],
  agent: "demo",
  command: [],
  env: {},
  envFrom: [],
  options: { model: { env: "MODEL" } },
  isolation: "embedded",
  resources: DEFAULT_RESOURCES,
  sidecarResources: DEFAULT_SIDECAR_RESOURCES,
  workspace: { type: "empty-dir", sizeLimit: "1Gi" },
  graceMs: 20_000,
  user: 10001,
  placement: { nodeSelector: {}, tolerations: [] },
};
const BINDING = bindingOf("agents", "demo");

/** A namespace of the project `shop` with one provider. */
export function bindingOf(name: string, provider: string): NamespaceBinding {
  return { name, project: "shop", templates: new Map([[provider, TEMPLATE]]), credentials: "secret" };
}

/** A request to start the session `id` in the project `shop`. */
export function startOf(id: string, change: Partial<StartRequest> = {}): StartRequest {
  return { project: "shop", id, provider: "demo", repoPath: "/workspace", agentOpts: {}, ...change };
}

/** A CA for sessions' certificates. `now`: wall clock, ms. */
export async function townCa(now: number): Promise<IssuingCa> {
  const keys = await newKeyPair("ecdsa-p384");
  const pem = newAuthority(keys, { name: "town", ...TOWN, days: 30, now });
  return { signer: { certificate: new X509Certificate(pem), key: keys.privateKey }, chain: "", bundle: pem };
}

/** A fake sidecar's state. */
export interface FakeSidecar {
  alive: boolean;
  calls: string[];
  /** The restarts of its agent. */
  restarts: number;
  /** Its agent has ended, and no restart is due. */
  end?: { readonly exitCode: number };
  /** Its agent ends soon after each start. */
  loop?: { readonly exitCode: number };
  fails?: DomainError | ConnectError;
  /** The position of its events; default: `e1` and 7. */
  position?: { readonly epoch: string; readonly head: string };
  /** Its answer to a call waits for this. `url`: the address of the called sidecar. */
  before?: (name: string, request: object, signal: AbortSignal, url: string) => Promise<void> | undefined;
}

export interface ReplicaDeps {
  readonly kube: KubeApi;
  readonly clock: Clock;
  readonly ca: IssuingCa;
  readonly sidecar: FakeSidecar;
}

export interface ReplicaOptions {
  readonly leads?: boolean;
  /** Whether the leader's work runs; its writes are refused unless the replica leads. Default: true. */
  readonly keeps?: boolean;
  readonly maxPerProject?: number;
  /** Default: one namespace, `agents`, with the provider `demo`. */
  readonly bindings?: readonly NamespaceBinding[];
}

/** One replica of the controller, without its port. Its process can end between any two calls. */
export class Replica implements KubeApi {
  /** The number of writes that are still made; each later one fails as if the process had ended. */
  writesLeft = Number.POSITIVE_INFINITY;
  /** The same for all calls: reads, writes, and calls to sidecars. */
  callsLeft = Number.POSITIVE_INFINITY;
  /** The calls so far, as `METHOD resource` or the RPC's name. */
  readonly calls: string[] = [];
  leads = false;
  readonly pods: SessionPods;
  readonly sessions: PodSessions;
  readonly #kube: KubeApi;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(
    { kube, clock, ca, sidecar }: ReplicaDeps,
    { leads = false, keeps = true, maxPerProject = 50, bindings = [BINDING] }: ReplicaOptions = {},
  ) {
    this.#kube = kube;
    this.leads = leads;
    const [api, logger, random] = [this as KubeApi, silentLogger, () => 0.5];
    this.pods = new SessionPods({ api, clock, logger, random }, bindings);
    const connect: typeof sidecarTransport = ({ baseUrl }) =>
      connectionTo(sidecar, baseUrl, (name) => this.#spend(name));
    const pool = new SidecarPool({ tls: () => ({ cert: "", key: "", ca: "" }), connect }, TOWN);
    const build = (of: KubeApi) => {
      const client = new PodClient(of);
      const limits = new StartLimits({ clock, pods: this.pods, client, bindings }, { maxPerProject, maxGlobal: 100 });
      const secrets = { secrets: new SecretClient(of), notes: new PodNotesClient(of) };
      const certificates = new CertificateReconciler({ ...secrets, ca: () => ca, clock, logger }, TOWN);
      const opening = new SessionOpening({ clock, client, limits, certificates });
      return { client, limits, opening, stopper: new SessionStopper({ clock, logger, client, pool }) };
    };
    const own = build(api);
    const starting = { bindings, retentionMs: RETENTION_MS, allowClients: () => [], hasTokens: false };
    const starter = new SessionStarter({ pods: this.pods, ...own }, starting);
    const providers = new ProviderChecks({ clock, client: own.client }, starting);
    const fenced = build(
      new FencedKube(api, () => {
        if (!this.leads) throw new DomainError("precondition", "not the leader");
      }),
    );
    const keeper = new SessionKeeper(
      { clock, logger, random, pods: this.pods, ...fenced },
      { retentionMs: RETENTION_MS },
    );
    const { pods } = this;
    const liveness = (onChanged: (record: SessionRecord) => void) =>
      new SessionLiveness({
        ...{ clock, logger, pods, pool, onChanged },
        onEnded: (record, signal) => own.stopper.noteEnd(record, signal),
      });
    const mounts = (onChanged: (record: SessionRecord) => void) =>
      new SessionMounts({ clock, logger, pods, secrets: new SecretClient(api), onChanged });
    const missing = new MissingSessions({ clock, pods, client: own.client }, bindings);
    this.sessions = new PodSessions(
      { clock, logger, pods, pool, starter, stopper: own.stopper, liveness, mounts, providers, missing },
      { startTimeoutMs: 300_000 },
    );
    this.#running = runTasks(this.#stop.signal, keeps ? [this.sessions, keeper] : [this.sessions]);
  }

  async call(request: KubeRequest, signal: AbortSignal): Promise<unknown> {
    if (request.method !== "GET" && this.writesLeft-- <= 0) throw ENDED;
    this.#spend(`${request.method} ${/\/(pods|secrets)\b/.exec(request.path)?.[1] ?? request.path}`);
    return this.#kube.call(request, signal);
  }

  stream(request: KubeRequest, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#kube.stream(request, signal);
  }

  async end(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#running;
  }

  #spend(name: string): void {
    if (this.callsLeft-- <= 0) throw ENDED;
    this.calls.push(name);
  }
}

/**
 * Advances the clock until the condition holds, by at most `limitMs`. Key generation does not follow the fake clock, so
 * it also waits for turns of the event loop.
 */
export async function advanceUntil(clock: FakeClock, condition: () => boolean, limitMs = 60_000): Promise<void> {
  const limit = clock.monotonicMs() + limitMs;
  for (let turns = 1; !condition(); turns++) {
    if (clock.monotonicMs() > limit) throw new Error(`the condition does not hold in time: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, turns % 5 === 0 ? 1 : 0));
    if (turns % 5 === 0) await clock.advance(limitMs / 120);
  }
}

const NEVER = new AbortController().signal;
const ENDED = new DomainError("unavailable", "the process has ended");

function connectionTo(sidecar: FakeSidecar, url: string, onCall: (name: string) => void): SidecarConnection {
  const unary: (...args: Parameters<SidecarConnection["transport"]["unary"]>) => Promise<unknown> = async (
    method,
    signal = NEVER,
    _timeoutMs,
    _header,
    request,
  ) => {
    onCall(method.name);
    sidecar.calls.push(method.name);
    await sidecar.before?.(method.name, request, signal, url);
    if (sidecar.fails) throw sidecar.fails;
    // Every acknowledgement names another epoch than the sidecar's.
    if (method.name === "AckEvents") {
      const fields = sidecar.position ?? { epoch: "e1", head: "7" };
      throw new DomainError("precondition", "another epoch", { fields });
    }
    return { message: { restarts: sidecar.restarts, ...statusFields(sidecar) } };
  };
  const transport = { unary } as unknown as SidecarConnection["transport"];
  return { transport, setTls: () => {}, [Symbol.dispose]: () => {} } as unknown as SidecarConnection;
}

function statusFields({ alive, end, loop }: FakeSidecar): object {
  if (end !== undefined) return { sessionAlive: false, state: AgentState.DEAD, ...end };
  return loop === undefined ? { sessionAlive: alive } : { sessionAlive: false, state: AgentState.CRASH_LOOP, ...loop };
}
