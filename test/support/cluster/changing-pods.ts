import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import type { ClusterAccess } from "../../../internal/kube/access/credentials.ts";
import type { RunningReplica } from "./controller-cluster.ts";

/** The concurrent calls of the API server. */
const AT_A_TIME = 12;
const PAGE = 1_000;
const LIFE_S = 20;

interface Pod {
  readonly metadata: { readonly labels: object; readonly annotations: object };
  readonly spec: object;
}

export interface ChangingPodsOptions {
  readonly access: ClusterAccess;
  readonly namespaces: readonly string[];
  /** The size of an annotation that makes each pod larger. */
  readonly filler?: number;
}

/**
 * Copies of a pod that a controller made, each for another session, written to the API server as schedulers, kubelets
 * and people write. No node takes them.
 */
export class ChangingPods implements AsyncDisposable {
  /** By session: the last reason that the API server accepted for a pod without a node. */
  readonly written = new Map<string, string>();
  readonly #pod: Pod;
  readonly #options: ChangingPodsOptions;
  readonly #agent: Agent;
  #next = 0;

  /** `model`: such a pod, as the API server returns it. */
  constructor(model: unknown, options: ChangingPodsOptions) {
    this.#pod = model as Pod;
    this.#options = options;
    this.#agent = new Agent({ connections: AT_A_TIME, connect: options.access.tls });
  }

  async make(count: number): Promise<void> {
    const end = this.#next + count;
    const work = async () => {
      while (this.#next < end) await this.makeOne();
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
  }

  /** The session's id: `copy-0`, `copy-1`, … */
  async makeOne(): Promise<string> {
    const id = `copy-${this.#next++}`;
    const { metadata, spec } = this.#pod;
    const filler = "x".repeat(this.#options.filler ?? 0);
    const annotations = { ...metadata.annotations, "gastown.io/session-id": id, filler };
    const labels = { ...metadata.labels, "gastown.io/session": id, "gastown.io/agent": id };
    const body = { metadata: { name: id, labels, annotations }, spec: { ...spec, schedulingGates: [GATE] } };
    await this.#call("POST", this.#path(id, ""), body);
    this.written.set(id, "");
    return id;
  }

  /**
   * Changes existing pods, in turns, until the signal: three of five writes give a pod another reason, one makes a pod,
   * one deletes the oldest of the pods made here, at least 20 s old. Returns the rate that was reached, writes per
   * second.
   */
  async change(perSecond: number, signal: AbortSignal, onMade: (id: string) => void = () => {}): Promise<number> {
    const [others, own, startedAt] = [[...this.written.keys()], [] as string[], performance.now()];
    const write = async (turn: number) => {
      const oldest = turn % 5 === 1 && own.length > (perSecond * LIFE_S) / 5 ? own.shift() : undefined;
      if (oldest !== undefined) return await this.#delete(oldest);
      if (turn % 5 !== 0) return await this.#refuse(others[turn % others.length] ?? "", `change ${turn}`);
      const id = await this.makeOne();
      own.push(id);
      onMade(id);
    };
    let turns = 0;
    const writer = async () => {
      while (!signal.aborted) {
        const turn = turns++;
        await sleep(Math.max(0, startedAt + (turn * 1_000) / perSecond - performance.now()));
        await write(turn);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, writer));
    return (turns * 1_000) / (performance.now() - startedAt);
  }

  /** The sessions for which the replica does not report the last write, and the sessions that it should not know. */
  async unseenBy({ client }: RunningReplica): Promise<readonly string[]> {
    const said = new Map<string, string>();
    for (let pageToken = "", isLast = false; !isLast; isLast = pageToken === "") {
      const page = await client.listSessions({ pageSize: PAGE, pageToken });
      for (const { sessionId, error } of page.sessions)
        if (sessionId.startsWith("copy-")) said.set(sessionId, error.replace("no node accepts the pod: ", ""));
      pageToken = page.nextPageToken;
    }
    const ids = new Set([...said.keys(), ...this.written.keys()]);
    return [...ids].filter((id) => said.get(id) !== this.written.get(id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.close();
  }

  async #refuse(id: string, message: string): Promise<void> {
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
    await this.#call("PATCH", this.#path(id, `/${id}/status`), { status: { conditions: [condition] } });
    this.written.set(id, message);
  }

  async #delete(id: string): Promise<void> {
    await this.#call("DELETE", this.#path(id, `/${id}`), { gracePeriodSeconds: 0 });
    this.written.delete(id);
  }

  #path(id: string, rest: string): string {
    const { namespaces } = this.#options;
    const namespace = namespaces[Number(id.split("-")[1]) % namespaces.length];
    return `/api/v1/namespaces/${namespace}/pods${rest}`;
  }

  async #call(method: "POST" | "PATCH" | "DELETE", path: string, body: object): Promise<void> {
    const { server, headers } = this.#options.access;
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await this.#agent.request({
      origin: server,
      path,
      method,
      headers: { ...headers, "content-type": type },
      body: JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 300)}`);
  }
}

const GATE = { name: "example.org/never" };
