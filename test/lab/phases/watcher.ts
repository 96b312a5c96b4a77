import { setTimeout as sleep } from "node:timers/promises";
import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { RunningSidecar } from "../../support/sidecar/sidecar.ts";
import type { Sample } from "./score.ts";

const NAMES = new Map(
  Object.entries(AgentState).map(([name, value]) => [value as number, name.toLowerCase().replaceAll("_", "-")]),
);

/** The state's name in lower case, as `gt` prints it. */
export const stateName = (state: AgentState): string => NAMES.get(state) ?? "unspecified";

/** Polls the state and keeps every answer. */
export class StateWatcher {
  readonly samples: Sample[] = [];
  readonly failures: { readonly at: number; readonly err: unknown }[] = [];
  readonly #sidecar: RunningSidecar;
  readonly #everyMs: number;

  constructor(sidecar: RunningSidecar, everyMs: number) {
    this.#sidecar = sidecar;
    this.#everyMs = everyMs;
  }

  get last(): Sample | undefined {
    return this.samples.at(-1);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // The reported state may be as old as the call.
      const at = Date.now();
      try {
        const { state, stateSince } = await this.#sidecar.client.status({}, { signal, timeoutMs: 5000 });
        const seconds = Number(stateSince?.seconds ?? 0) * 1000;
        const since = seconds + Math.round((stateSince?.nanos ?? 0) / 1e6);
        this.samples.push({ at, state: stateName(state), since });
        await sleep(this.#everyMs, undefined, { signal });
      } catch (err) {
        if (signal.aborted) return;
        // The serving half may be restarting: no state is reported meanwhile.
        this.failures.push({ at, err });
        await sleep(this.#everyMs, undefined, { signal }).catch(() => {});
      }
    }
  }
}
