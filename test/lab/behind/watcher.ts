import { setTimeout as sleep } from "node:timers/promises";
import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { SidecarStatusResponse } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import type { RunningSidecar } from "../../support/sidecar/sidecar.ts";
import { stateName } from "../phases/watcher.ts";
import type { Look } from "./judge-behind.ts";

const EVERY_MS = 200;
/** The agent is at rest after this many idle looks in a row. */
const RESTED_LOOKS = 5;

/** Polls the state and the background tasks, and keeps every answer. */
export class BackgroundWatcher {
  readonly looks: Look[] = [];
  readonly #sidecar: RunningSidecar;

  constructor(sidecar: RunningSidecar) {
    this.#sidecar = sidecar;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look();
      await sleep(EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** @throws Error if it does not come to rest within `ms` */
  async untilRested(ms: number, signal: AbortSignal): Promise<void> {
    const end = performance.now() + ms;
    for (let idle = 0; idle < RESTED_LOOKS; ) {
      signal.throwIfAborted();
      const { state, evidence } = await this.#sidecar.client.status({});
      if (performance.now() > end)
        throw new Error(`it does not come to rest: ${stateName(state)}, ${evidence[0]?.source}: ${evidence[0]?.value}`);
      idle = state === AgentState.IDLE ? idle + 1 : 0;
      await sleep(EVERY_MS, undefined, { signal });
    }
  }

  async #look(): Promise<void> {
    const at = Date.now();
    let told: SidecarStatusResponse;
    try {
      told = await this.#sidecar.client.status({}, { timeoutMs: 5000 });
    } catch {
      return; // not answered in time: nothing was reported
    }
    const { state, background } = told;
    this.looks.push({
      at,
      until: Date.now(),
      state: stateName(state),
      kinds: background.map(({ kind }) => kind),
    });
  }
}
