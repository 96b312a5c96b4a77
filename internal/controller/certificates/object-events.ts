import { randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { KubeApi } from "../../kube/kube-api.ts";
import { LABELS, MANAGED_BY } from "../pods/names.ts";

/** The content of an Event. */
export interface EventNote {
  readonly type: "Normal" | "Warning";
  /** In CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** The object that an Event is about. */
export interface EventObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface ObjectEventsDeps {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Events of the cluster, which `kubectl describe` shows for an hour. They are for people; no code depends on them. */
export class ObjectEvents {
  readonly #deps: ObjectEventsDeps;

  constructor(deps: ObjectEventsDeps) {
    this.#deps = deps;
  }

  /** Writes an Event; a failure is logged and ignored. Rejects only with the signal's reason. */
  async tell(object: EventObject, note: EventNote, signal: AbortSignal): Promise<void> {
    const { api, clock, logger } = this.#deps;
    const { namespace, name } = object;
    const at = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const body = {
      apiVersion: "v1",
      kind: "Event",
      metadata: {
        name: `${name.slice(0, 200)}.${randomBytes(8).toString("hex")}`,
        namespace,
        labels: { [LABELS.managedBy]: MANAGED_BY },
      },
      involvedObject: { apiVersion: "v1", ...object },
      ...note,
      source: { component: "gt-controller" },
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    };
    try {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
      await api.call({ method: "POST", path, body }, signal);
    } catch (err) {
      signal.throwIfAborted();
      logger.warn({ err, reason: note.reason }, "cannot write an Event");
    }
  }
}
