import { DomainError } from "../../base/errors.ts";
import { hostPort } from "../../base/text/host-name.ts";
import type { BeadLookup } from "../../beads/bead.ts";
import { type AgentAddress, addressMatches, formatAddress, parseAgentAddress } from "./address.ts";
import { type AgentPod, type AgentPods, checkReachable, choosePod, podText } from "./agent-pods.ts";
import { beadIds } from "./bead-id.ts";
import { type FoundAgents, knownAgents, listed, noAgentHere } from "./known-agents.ts";
import type { LocalSidecar } from "./local-sidecars.ts";
import { chooseSession } from "./session-names.ts";
import type { Town } from "./town.ts";

/** The requested agent, and the details given about its place. */
export interface AgentQuery {
  /** An address; empty is allowed only with `host` or `port`. */
  readonly agent: string;
  /** A host, or `unix:PATH`. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** True: a local tmux server was requested by flag, and nothing else is searched. */
  readonly localOnly: boolean;
}

/** The place of an agent. */
export type Place =
  | {
      readonly type: "sidecar";
      readonly agent: string;
      readonly host: string;
      readonly port: number;
      /** The path of a unix socket; host and port have no meaning then. */
      readonly path?: string;
      /** Whether it serves TLS; undefined if unknown. */
      readonly tls?: boolean;
      readonly source: "flags" | "bead" | "cluster" | "this machine";
      /** Reached by a port-forward through the API server; host and port mean nothing then. */
      readonly pod?: Pick<AgentPod, "namespace" | "name">;
      /** Id of the session that must answer there, where that is known. */
      readonly session?: string;
      readonly muted: boolean;
    }
  | {
      readonly type: "tmux";
      readonly agent: string;
      readonly socketPath: string;
      readonly session: string;
      readonly muted: boolean;
    };

/** A session of a control plane, as a bead names it. */
export interface SessionPlace {
  readonly type: "bridge";
  readonly agent: string;
  /** `HOST:PORT`. */
  readonly server: string;
  readonly sessionId: string;
  /** Id of the bead. */
  readonly bead: string;
  readonly muted: boolean;
}

export interface ResolveDeps {
  readonly town: Town | undefined;
  /** Local tmux servers to ask, in order. */
  readonly socketPaths: readonly string[];
  lookUpBead(ids: readonly string[], signal: AbortSignal): Promise<BeadLookup>;
  /** Names of a server's sessions; none when no server answers there. */
  listSessions(socketPath: string, signal: AbortSignal): Promise<readonly string[]>;
  listSidecars(): Promise<readonly LocalSidecar[]>;
  /** Present if a context of Kubernetes is named. */
  readonly pods?: AgentPods | undefined;
}

const DEFAULT_PORT = 9090;
const UNIX = "unix:";

/**
 * Finds the place of an agent: the address given by flag or environment; a pod of the cluster whose context is named;
 * what the agent's bead says; a local tmux session of that name; a sidecar that runs on this machine; any other bead of
 * that name. The first source that knows the agent decides; a source that fails is an error, never a reason to try the
 * next.
 * @throws DomainError `not-found` (the message lists what exists), `invalid` (no address, or one with several
 * meanings), `precondition` (a bead that cannot be read or followed).
 */
export async function resolvePlace(
  query: AgentQuery,
  deps: ResolveDeps,
  signal: AbortSignal,
): Promise<Place | SessionPlace> {
  if (query.host !== undefined || query.port !== undefined) {
    const { host = "127.0.0.1", port = DEFAULT_PORT } = query;
    const agent = query.agent === "" ? "" : formatAddress(parseAgentAddress(query.agent));
    const socket = host.startsWith(UNIX) ? { ...splitListen(host), tls: false } : undefined;
    return { type: "sidecar", agent, ...(socket ?? { host, port }), source: "flags", muted: false };
  }
  const address = parseAgentAddress(query.agent);
  const bead = query.localOnly ? ABSENT : await deps.lookUpBead(beadIds(address, deps.town), signal);
  assertReadable(bead);
  const muted = bead.type !== "absent" && bead.muted;
  const pod = await findPod(query, address, deps, bead.type === "k8s" ? bead.session : undefined, signal);
  if (pod !== undefined) return placeOfPod(pod, muted);
  const named = placeOfBead(bead, address);
  if (named?.type === "sidecar") return named;
  if (deps.pods?.only) throw await notInCluster(formatAddress(address), deps.pods, signal);
  if (named !== undefined) return named;
  const found = (await findTmux(address, deps, muted, signal)) ?? (await findSidecar(query, address, deps, muted));
  if (found !== undefined) return found;
  return (await findOtherBead(query, address, deps, signal)) ?? (await throwNotFound(query, address, deps, signal));
}

/** Undefined: the bead does not say where the agent is. */
function placeOfBead(bead: BeadLookup, address: AgentAddress): Place | SessionPlace | undefined {
  const agent = formatAddress(address);
  if (bead.type === "k8s") {
    const { host, port, session, muted } = bead;
    const place = { type: "sidecar", agent, host, port, source: "bead", muted } as const;
    return session === undefined ? place : { ...place, session };
  }
  if (bead.type !== "bridge") return undefined;
  const { server, session: sessionId, id, muted } = bead;
  return { type: "bridge", agent, server, sessionId, bead: id, muted };
}

/**
 * Looks up a bead that is not an agent's by its name: `gt start --bead` takes any bead. Asked last, because few names
 * are beads.
 */
async function findOtherBead(
  query: AgentQuery,
  address: AgentAddress,
  deps: ResolveDeps,
  signal: AbortSignal,
): Promise<Place | SessionPlace | undefined> {
  if (query.localOnly || address.type !== "bare" || beadIds(address, deps.town).length > 0) return undefined;
  const bead = await deps.lookUpBead([address.name], signal);
  assertReadable(bead);
  return placeOfBead(bead, address);
}

function assertReadable(bead: BeadLookup): asserts bead is Exclude<BeadLookup, { readonly type: "error" }> {
  if (bead.type === "error") throw new DomainError("precondition", bead.message, { fields: { hint: bead.hint } });
}

/** All agents that can be found without a name: on this machine, and in the cluster whose context is named. */
export async function listPlaces(
  deps: ResolveDeps,
  options: { readonly localOnly: boolean },
  signal: AbortSignal,
): Promise<FoundAgents> {
  const { pods: cluster, town } = deps;
  if (cluster?.only && !options.localOnly) {
    return knownAgents({ sessions: [], sidecars: [], pods: await cluster.list(signal), town, everySession: false });
  }
  const sessions = [];
  for (const socketPath of deps.socketPaths) {
    for (const session of await deps.listSessions(socketPath, signal)) sessions.push({ socketPath, session });
  }
  const sidecars = options.localOnly ? [] : await deps.listSidecars();
  const pods = options.localOnly || cluster === undefined ? [] : await cluster.list(signal);
  return knownAgents({ sessions, sidecars, pods, town, everySession: options.localOnly });
}

/** A sidecar's listener as host and port, or as the path of its socket. */
export function splitListen(listen: string): { readonly host: string; readonly port: number; readonly path?: string } {
  if (listen.startsWith(UNIX)) return { host: "localhost", port: 0, path: listen.slice(UNIX.length) };
  const at = listen.lastIndexOf(":");
  const host = listen.slice(0, at).replace(/^\[|\]$/g, "");
  // A listener on every address is reached on this machine's own.
  return { host: host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host, port: Number(listen.slice(at + 1)) };
}

/** The place of a pod. @throws DomainError for one that cannot be reached, as `checkReachable` */
export function placeOfPod(pod: AgentPod, muted: boolean): Place & { type: "sidecar" } {
  checkReachable(pod);
  const { namespace, name, agent, session, tls } = pod;
  const reached = { host: "localhost", port: DEFAULT_PORT, pod: { namespace, name } };
  return { type: "sidecar", agent: agent || session, ...reached, tls, source: "cluster", session, muted };
}

/** A sidecar's place as people and URLs write it: `host:port`, `[::1]:port`, `unix:PATH`, or its pod. */
export function placeAuthority({ host, port, path, pod }: Place & { type: "sidecar" }): string {
  if (pod !== undefined) return podText(pod);
  if (path !== undefined) return `${UNIX}${path}`;
  return hostPort(host, port);
}

const ABSENT: BeadLookup = { type: "absent" };

/**
 * Undefined: no context is named, or its cluster has no such agent. `session`: the session that the agent's bead names.
 */
async function findPod(
  query: AgentQuery,
  address: AgentAddress,
  deps: ResolveDeps,
  session: string | undefined,
  signal: AbortSignal,
): Promise<AgentPod | undefined> {
  if (deps.pods === undefined || query.localOnly) return undefined;
  const meant: AgentAddress = session === undefined ? address : { type: "bare", name: session };
  const found = await deps.pods.find(meant, signal);
  return choosePod(meant, session === undefined ? found : found.filter((pod) => pod.session === session));
}

async function notInCluster(asked: string, pods: AgentPods, signal: AbortSignal): Promise<DomainError> {
  const names = (await pods.list(signal)).map(({ agent, session }) => agent || session);
  const text = names.length === 0 ? "no agent is running there" : `running there: ${listed(names)}`;
  return new DomainError("not-found", `${pods.where} has no agent ${JSON.stringify(asked)}; ${text}`, {
    fields: { hint: "--namespace selects a namespace other than the context's" },
  });
}

async function findTmux(
  address: AgentAddress,
  deps: ResolveDeps,
  muted: boolean,
  signal: AbortSignal,
): Promise<Place | undefined> {
  for (const socketPath of deps.socketPaths) {
    const live = new Set(await deps.listSessions(socketPath, signal));
    const found = chooseSession(address, deps.town, live);
    if (found === undefined) continue;
    return { type: "tmux", agent: formatAddress(found.address), socketPath, session: found.session, muted };
  }
  return undefined;
}

async function findSidecar(
  query: AgentQuery,
  address: AgentAddress,
  deps: ResolveDeps,
  muted: boolean,
): Promise<Place | undefined> {
  const sidecars = query.localOnly ? [] : await deps.listSidecars();
  const asked = formatAddress(address);
  const exact = sidecars.filter((one) => one.sessionId === asked || one.agent === asked);
  const fitting = exact.length > 0 ? exact : sidecars.filter((one) => addressMatches(address, one.agent));
  const [first, second] = fitting;
  if (first === undefined) return undefined;
  if (second !== undefined) {
    const names = fitting.map((one) => `${one.agent} (session ${one.sessionId})`).join(", ");
    throw new DomainError(
      "invalid",
      `${JSON.stringify(asked)} is ambiguous: ${names}; write the full address or the session id`,
    );
  }
  return {
    type: "sidecar",
    agent: first.agent,
    ...splitListen(first.listen),
    tls: first.tls,
    source: "this machine",
    muted,
  };
}

async function throwNotFound(
  query: AgentQuery,
  address: AgentAddress,
  deps: ResolveDeps,
  signal: AbortSignal,
): Promise<never> {
  const { agents, otherSessions } = await listPlaces(deps, query, signal);
  const names = agents.map((one) => one.agent);
  const text = names.length === 0 ? noAgentHere(otherSessions) : `running here: ${listed(names)}`;
  throw new DomainError("not-found", `no agent ${JSON.stringify(formatAddress(address))}; ${text}`, {
    fields: { hint: "--host and --port reach a sidecar elsewhere, --socket another tmux server" },
  });
}
