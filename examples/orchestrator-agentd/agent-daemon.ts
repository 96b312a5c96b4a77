import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import { type BridgeClient, BridgeError } from "../../pkg/bridgeclient/index.ts";
import { AgentDaemon } from "./gen/orch/v1/agent_daemon_pb.ts";
import { toEvent } from "./to-event.ts";

/** The orchestrator's service, with the agents of a bridge behind it: a run is a session of the same id. */
export function agentDaemonRoutes(client: BridgeClient, projectId: string): (router: ConnectRouter) => void {
  const service: ServiceImpl<typeof AgentDaemon> = {
    runTask: ({ runId, repoPath, provider, task }) =>
      orchestratorError(async () => {
        await client.startSession({ projectId, sessionId: runId, repoPath, provider });
        // The run's id is the key, so that a repeated call does not give the agent its task twice.
        const { accepted, error } = await client.session(runId).sendInput(task, { idempotencyKey: `task-${runId}` });
        return { accepted, error };
      }),

    async *streamEvents({ runId, after }, { signal }) {
      try {
        // The orchestrator keeps its own position, so nothing is acknowledged here.
        for await (const event of client.session(runId).events({ afterSeq: after, signal })) {
          const own = toEvent(runId, event);
          if (own !== undefined) yield own;
        }
      } catch (err) {
        throw errorOf(err);
      }
    },

    cancelRun: ({ runId }) =>
      orchestratorError(async () => {
        await client.session(runId).stop();
        return {};
      }),
  };
  return (router) => router.service(AgentDaemon, service);
}

async function orchestratorError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    throw errorOf(err);
  }
}

const CODES: Readonly<Partial<Record<BridgeError["code"], Code>>> = {
  invalid_argument: Code.InvalidArgument,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  failed_precondition: Code.FailedPrecondition,
  resource_exhausted: Code.ResourceExhausted,
  deadline_exceeded: Code.DeadlineExceeded,
};

/**
 * Passes on the codes of errors that the orchestrator may have caused. For any other error of the bridge, such as a
 * refusal of this daemon, the orchestrator gets `unavailable`.
 */
function errorOf(err: unknown): unknown {
  if (!(err instanceof BridgeError)) return err;
  return new ConnectError(err.message, CODES[err.code] ?? Code.Unavailable, undefined, undefined, err);
}
