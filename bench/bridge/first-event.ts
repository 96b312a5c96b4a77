import { EventType } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { abortOnExit } from "../../internal/rpc/client/transport.ts";
import type { BridgeFolder, RunningBridge } from "../../test/support/bridge/bridge-folder.ts";
import { type Measured, measured } from "../report/row.ts";
import { interleave, median } from "../stats.ts";

export interface FirstEventPlace {
  readonly folder: BridgeFolder;
  readonly bridge: RunningBridge;
  readonly rounds: number;
  readonly signal: AbortSignal;
}

const MODES = ["stdio", "terminal"] as const;
/** The limit for the start of a real program on a busy machine. */
const START_MS = 60_000;

/** Measures the time from the call that starts a session to its first event, alternating between both modes. */
export async function measureFirstEvent(
  { folder, bridge, rounds, signal }: FirstEventPlace,
  provider: string,
  repoPath: string,
): Promise<readonly Measured[]> {
  const client = folder.client(bridge, folder.prd);
  const projectId = folder.prd.name;
  const arms = MODES.map((mode) => {
    const times: number[] = [];
    const run = async (round: number) => {
      const sessionId = `${provider}-${mode}-${round}`;
      const at = performance.now();
      const request = { projectId, sessionId, provider, repoPath, agentOpts: { mode } };
      await client.startSession(request, { timeoutMs: START_MS });
      for await (const { type, error } of abortOnExit(
        (stop) => client.streamEvents({ sessionId }, { signal: stop }),
        signal,
      )) {
        if (type === EventType.SESSION_FAILED) throw new Error(`${provider} did not start: ${error}`);
        if (type === EventType.SESSION_STARTED) break;
      }
      times.push(performance.now() - at);
      await client.stopSession({ sessionId, force: true });
    };
    return { mode, times, run };
  });
  await interleave(
    rounds,
    arms.map(({ run }) => run),
    signal,
  );
  return arms.map(({ mode, times }) =>
    measured(`bridge: start of a session to its first event, ${provider}, ${mode}, p50`, median(times), "ms"),
  );
}
