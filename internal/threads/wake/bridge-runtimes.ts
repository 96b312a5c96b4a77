import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { type GetSessionResponse, type ListProvidersResponse, SessionStatus } from "../../gen/bridge/v1/bridge_pb.ts";
import { type OpenBridge, openBridge } from "../../terminal/places/open-bridge.ts";
import type { SessionStart } from "../domain/recovery.ts";
import type { Runtime, Runtimes, SessionSpawner, WakeReceipt } from "../domain/runtimes.ts";
import { BackendRuntime, known } from "./backend-runtime.ts";

/** A bridge, or a controller, and the credentials for it. */
export interface BridgePlace {
  /** `host:port` */
  readonly server: string;
  /** A folder with `ca.crt`, `tls.crt` and `tls.key`. */
  readonly tlsDir: string;
  /** The file with the Ed25519 key that signs a token for each workspace; the workspace is the token's project. */
  readonly keyPath: string;
  readonly issuer: string;
  readonly audience: string;
}

/** The caller's name, which is the same for all servers, so that each finds the receipts of the others. */
const SUBJECT = "threads";
/** Lookups within this time share one list of sessions. */
const LIST_MS = 1000;

/** Finds agents by the sessions of a bridge. An agent's id is its session's address, its workspace the project. */
export class BridgeRuntimes implements Runtimes, SessionSpawner, Disposable {
  readonly kind = "bridge";
  readonly #clock: Clock;
  readonly #place: BridgePlace;
  /** By workspace. */
  readonly #bridges = new Map<string, Promise<OpenBridge>>();
  /** The last list of each workspace. */
  readonly #lists = new Map<string, { readonly at: number; readonly sessions: readonly GetSessionResponse[] }>();

  constructor(clock: Clock, place: BridgePlace) {
    this.#clock = clock;
    this.#place = place;
  }

  get starter(): SessionSpawner {
    return this;
  }

  async find(workspace: string, agent: string, signal: AbortSignal): Promise<Runtime | undefined> {
    const bridge = await this.#bridgeOf(workspace);
    const isOwn = (one: GetSessionResponse) => one.agent === agent && one.projectId === workspace && !hasEnded(one);
    const isRunning = (one: GetSessionResponse) => isOwn(one) && one.status === SessionStatus.RUNNING;
    const known = this.#recent(workspace).findLast(isRunning);
    if (known !== undefined) return runtimeOf(bridge, known);
    // Only a new list can show that an agent has ended.
    const sessions = await this.#list(workspace, bridge, signal);
    const session = sessions.findLast(isRunning);
    if (session !== undefined) return runtimeOf(bridge, session);
    const other = sessions.find(isOwn);
    if (other === undefined) return undefined;
    throw new DomainError("unavailable", `the session ${other.sessionId} of ${agent} does not run now`);
  }

  async canResume(workspace: string, provider: string, signal: AbortSignal): Promise<boolean> {
    const bridge = await this.#bridgeOf(workspace);
    const { providers }: ListProvidersResponse = await bridge.call(signal, (client, options) =>
      client.listProviders({}, options),
    );
    return providers.some((one) => one.provider === provider && one.capabilities.includes("resume"));
  }

  async start(workspace: string, session: SessionStart, signal: AbortSignal): Promise<void> {
    const bridge = await this.#bridgeOf(workspace);
    const request = { ...session, projectId: workspace, agentOpts: { ...session.agentOpts } };
    await bridge.call(signal, (client, options) => client.startSession(request, options));
    this.#lists.delete(workspace);
  }

  async lastReceipt(
    workspace: string,
    sessionId: string,
    requestId: string,
    signal: AbortSignal,
  ): Promise<WakeReceipt | undefined> {
    const bridge = await this.#bridgeOf(workspace);
    try {
      return await known(bridge.backend(sessionId).getNudge(requestId, signal));
    } catch (err) {
      if (err instanceof DomainError && (err.kind === "precondition" || err.kind === "unimplemented")) return undefined;
      throw err;
    }
  }

  /** The sessions of the last list; none if the list is too old. */
  #recent(workspace: string): readonly GetSessionResponse[] {
    const known = this.#lists.get(workspace);
    return known !== undefined && this.#clock.monotonicMs() - known.at < LIST_MS ? known.sessions : [];
  }

  /** @throws DomainError `unavailable` if the list may lack sessions */
  async #list(workspace: string, bridge: OpenBridge, signal: AbortSignal): Promise<readonly GetSessionResponse[]> {
    const lacks: string[] = [];
    const at = this.#clock.monotonicMs();
    const sessions = await bridge.sessions(signal, (why) => lacks.push(why));
    if (lacks.length > 0) throw new DomainError("unavailable", lacks.join("; "));
    this.#lists.set(workspace, { at, sessions });
    return sessions;
  }

  /** Resolves when the bridge has answered a call for this workspace. @throws DomainError if it does not */
  async check(workspace: string, signal: AbortSignal): Promise<void> {
    const bridge = await this.#bridgeOf(workspace);
    await bridge.call(signal, (client, options) => client.listProviders({}, options));
  }

  /** Closes the connections. */
  [Symbol.dispose](): void {
    for (const bridge of this.#bridges.values()) {
      bridge.then(
        (open) => open[Symbol.dispose](),
        () => {},
      );
    }
    this.#bridges.clear();
  }

  #bridgeOf(workspace: string): Promise<OpenBridge> {
    const known = this.#bridges.get(workspace);
    if (known !== undefined) return known;
    const { server, tlsDir, keyPath, issuer, audience } = this.#place;
    const opened = openBridge(
      {
        ...{ server, tls: { dir: tlsDir }, env: { GT_ROLE: SUBJECT } },
        token: { type: "signed", keyPath, issuer, audience, project: workspace },
      },
      this.#clock,
    );
    this.#bridges.set(workspace, opened);
    // Files that cannot be used are read again at the next call.
    opened.catch(() => this.#bridges.delete(workspace));
    return opened;
  }
}

function runtimeOf(bridge: OpenBridge, session: GetSessionResponse): Runtime {
  const backend = bridge.backend(session.sessionId);
  const { sessionId, provider, repoPath, agentOpts, agentSessionId } = session;
  return new BackendRuntime(
    "bridge",
    { sessionId, provider, started: { repoPath, agentOpts } },
    {
      nudge: (request, signal) => backend.nudge(request, signal),
      getNudge: (id, signal) => backend.getNudge(id, signal),
      cancelNudge: (id, signal) => backend.cancelNudge(id, signal),
      status: async (signal) => {
        const status = await backend.status(signal);
        return { ...status, agentSessionId: status.agentSessionId ?? (agentSessionId || undefined) };
      },
      // Stays open: the connection serves all sessions.
      [Symbol.asyncDispose]: async () => {},
    },
  );
}

/** The program of a failed session may still run until the session is reported as stopped. */
function hasEnded({ status, stoppedAt }: GetSessionResponse): boolean {
  return status === SessionStatus.STOPPED || (status === SessionStatus.FAILED && stoppedAt !== undefined);
}
