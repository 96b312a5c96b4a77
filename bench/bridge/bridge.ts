import type { BenchContext } from "../context.ts";
import type { Measured } from "../report/row.ts";
import { measureBridgeCalls } from "./calls.ts";
import { measureBridgeEvents } from "./events.ts";
import { measureRealStarts } from "./real-starts.ts";
import { measureBridgeRelay } from "./relay.ts";

/** Measures BridgeService: subscribers, streams that are passed through, calls. */
export async function measureBridge(context: BenchContext): Promise<readonly Measured[]> {
  return [
    ...(await measureBridgeEvents(context)),
    ...(await measureBridgeRelay(context)),
    ...(await measureBridgeCalls(context)),
    ...(await measureRealStarts(context)),
  ];
}
