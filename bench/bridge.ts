import { measureBridgeCalls } from "./bridge-calls.ts";
import { measureBridgeEvents } from "./bridge-events.ts";
import { measureBridgeRelay } from "./bridge-relay.ts";
import type { BenchContext } from "./context.ts";
import type { Measured } from "./row.ts";

/** BridgeService: subscribers, streams that are passed through, calls. */
export async function measureBridge(context: BenchContext): Promise<readonly Measured[]> {
  return [
    ...(await measureBridgeEvents(context)),
    ...(await measureBridgeRelay(context)),
    ...(await measureBridgeCalls(context)),
  ];
}
