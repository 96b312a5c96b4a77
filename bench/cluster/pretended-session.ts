import { once } from "node:events";
import { createSecureServer, type Http2Session } from "node:http2";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import type { ControllerCluster, RunningReplica } from "../../test/support/cluster/controller-cluster.ts";
import { sessionPod } from "./session-pod.ts";

/**
 * A session without an agent: this process answers in place of its sidecar, with the certificate of the pod's Secret.
 */
export interface PretendedSession extends AsyncDisposable {
  readonly id: string;
  /** The messages of its nudges, in order. */
  readonly taken: readonly string[];
}

const SIDECAR_PORT = 9090;

/** `index` as in `sessionPod`. The session's screen is the one line `screen of <id>`. */
export async function pretendedSession(
  town: ControllerCluster,
  replica: RunningReplica,
  index: number,
): Promise<PretendedSession> {
  const { id, ip, secret, reportRunning } = await sessionPod(town, replica, index);
  const taken: string[] = [];
  const routes = connectNodeAdapter({
    routes: ({ service }) =>
      service(SidecarService, {
        status: () => ({ sessionAlive: true }),
        peek: () => ({ output: `screen of ${id}` }),
        nudge: ({ message, requestId }) => {
          taken.push(message);
          return { requestId, outcome: NudgeOutcome.SUBMITTED };
        },
      }),
  });
  const pem = (name: string) => Buffer.from(secret[name] ?? "", "base64");
  const trust = { cert: pem("tls.crt"), key: pem("tls.key"), ca: pem("ca.crt") };
  const server = createSecureServer({ ...trust, requestCert: true, rejectUnauthorized: true }, routes);
  const open = new Set<Http2Session>();
  server.on("session", (session) => {
    open.add(session);
    session.once("close", () => open.delete(session));
  });
  await once(server.listen(SIDECAR_PORT, ip), "listening");
  await reportRunning();
  return {
    id,
    taken,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      for (const session of open) session.destroy();
      await closed;
    },
  };
}
