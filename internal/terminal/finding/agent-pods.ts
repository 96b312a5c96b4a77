import { DomainError } from "../../base/errors.ts";
import { type AgentAddress, addressMatches, formatAddress } from "./address.ts";

/** One agent's pod, as far as it is needed to choose and to reach one. */
export interface AgentPod {
  readonly namespace: string;
  readonly name: string;
  /** The agent's address as the pod states it; empty: the pod states none. */
  readonly agent: string;
  /** The id of its session, which its sidecar and its certificate carry. */
  readonly session: string;
  readonly provider: string;
  readonly node: string;
  readonly status: "starting" | "running" | "failed" | "stopping" | "stopped";
  /** For programs, e.g. `ImagePullBackOff`; empty: none. */
  readonly reason: string;
  /** A sentence for a person; empty: none. */
  readonly error: string;
  /** True: it serves TLS; false: plaintext. */
  readonly tls: boolean;
}

/** The agents of the cluster whose context is named. */
export interface AgentPods {
  /** How the cluster was named, e.g. `context prod`; for messages. */
  readonly where: string;
  /** True: this machine's tmux sessions and sidecars are not searched. */
  readonly only: boolean;
  /** The pods that an address may mean. @throws DomainError */
  find(address: AgentAddress, signal: AbortSignal): Promise<readonly AgentPod[]>;
  /** All pods, up to a limit. @throws DomainError */
  list(signal: AbortSignal): Promise<readonly AgentPod[]>;
}

/**
 * The pod that an address or a session's id means; undefined: none. A pod that has ended is chosen only if no other
 * fits.
 * @throws DomainError `invalid` when several fit, with all named
 */
export function choosePod(address: AgentAddress, pods: readonly AgentPod[]): AgentPod | undefined {
  const asked = formatAddress(address);
  const exact = pods.filter(({ agent, session }) => session === asked || agent === asked);
  const fitting = exact.length > 0 ? exact : pods.filter(({ agent }) => addressMatches(address, agent));
  const live = fitting.filter(({ status }) => status !== "failed" && status !== "stopped");
  const candidates = live.length > 0 ? live : fitting;
  const [first, second] = candidates;
  if (second === undefined) return first;
  const names = candidates.map((pod) => `${pod.agent || asked} (session ${pod.session}, ${podText(pod)})`).join(", ");
  throw new DomainError("invalid", `${JSON.stringify(asked)} is ambiguous: ${names}`, {
    fields: { hint: "write the full address or the session id, or give --namespace" },
  });
}

/**
 * @throws DomainError `unavailable`, `precondition` for a pod whose sidecar cannot be reached, with what the cluster
 * says
 */
export function checkReachable(pod: AgentPod): void {
  const { status, reason, error } = pod;
  if (status === "running" || status === "stopping") return;
  const why = [reason, error].filter((text) => text !== "").join(": ");
  const end = why === "" ? "" : ` (${why})`;
  if (status === "starting") throw new DomainError("unavailable", `${podText(pod)} is not ready yet${end}`);
  throw new DomainError("precondition", `${podText(pod)} ${status === "stopped" ? "has ended" : "has failed"}${end}`);
}

/** A pod as people write it. */
export function podText({ namespace, name }: Pick<AgentPod, "namespace" | "name">): string {
  return `pod ${namespace}/${name}`;
}
