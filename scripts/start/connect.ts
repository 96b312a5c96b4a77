import { randomUUID } from "node:crypto";
import type { Clock } from "../../internal/base/clock.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import type { Backend } from "../../internal/terminal/backend.ts";
import { GRPCSidecarBackend } from "../../internal/terminal/grpc-sidecar.ts";

/** The terminal behind a sidecar of this machine; `listen` is `host:port`. */
export function connect(listen: string, clock: Clock): Backend {
  const connection = sidecarTransport({ baseUrl: `http://${listen}` });
  const deps = {
    transport: connection.transport,
    clock,
    newId: randomUUID,
    toError: domainErrorOf,
    random: Math.random,
    close: () => connection[Symbol.dispose](),
  };
  return new GRPCSidecarBackend(deps, { where: listen, hint: "is the sidecar still running?", reconnectMs: 5000 });
}
