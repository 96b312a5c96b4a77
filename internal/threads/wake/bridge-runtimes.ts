import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { type GetSessionResponse, SessionStatus } from "../../gen/bridge/v1/bridge_pb.ts";
import { type OpenBridge, openBridge } from "../../terminal/places/open-bridge.ts";
import type { Runtime, Runtimes } from "../domain/runtimes.ts";
import { BackendRuntime } from "./backend-runtime.ts";

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

/** All servers call by this name: each has to find the receipts of the others. */
const SUBJECT = "threads";

/** Finds agents by the sessions of a bridge. An agent's id is its session's address, its workspace the project. */
export class BridgeRuntimes implements Runtimes, Disposable {
  readonly #clock: Clock;
  readonly #place: BridgePlace;
  /** By workspace. */
  readonly #bridges = new Map<string, Promise<OpenBridge>>();

  constructor(clock: Clock, place: BridgePlace) {
    this.#clock = clock;
    this.#place = place;
  }

  async find(workspace: string, agent: string, signal: AbortSignal): Promise<Runtime | undefined> {
    const bridge = await this.#bridgeOf(workspace);
    const sessions = await bridge.sessions(signal);
    const own = sessions.filter((one) => one.agent === agent && one.projectId === workspace && !hasEnded(one));
    const session = own.findLast(({ status }) => status === SessionStatus.RUNNING);
    if (session !== undefined) return runtimeOf(bridge, session);
    const [other] = own;
    if (other === undefined) return undefined;
    throw new DomainError("unavailable", `the session ${other.sessionId} of ${agent} does not run now`);
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
  return new BackendRuntime("bridge", session, {
    nudge: (request, signal) => backend.nudge(request, signal),
    getNudge: (id, signal) => backend.getNudge(id, signal),
    cancelNudge: (id, signal) => backend.cancelNudge(id, signal),
    status: (signal) => backend.status(signal),
    // The connection serves all sessions.
    [Symbol.asyncDispose]: async () => {},
  });
}

/** A session that has failed may still have a program that runs, until it is said to have stopped. */
function hasEnded({ status, stoppedAt }: GetSessionResponse): boolean {
  return status === SessionStatus.STOPPED || (status === SessionStatus.FAILED && stoppedAt !== undefined);
}
