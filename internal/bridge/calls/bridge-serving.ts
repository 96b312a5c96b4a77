import { TrustedServer, type TrustedServerDeps, type TrustedServerOptions } from "../../auth/serving/trusted-server.ts";
import { raceSignal } from "../../base/abort.ts";
import { BridgeService } from "../../gen/bridge/v1/bridge_pb.ts";
import type { Routes } from "../../rpc/server/adapter.ts";
import type { Gate } from "../../rpc/server/guard.ts";
import { bridgeGate } from "./bridge-gate.ts";

export interface BridgeServingOptions extends Pick<TrustedServerOptions, "listen" | "maxConnectionAgeMs" | "graceMs"> {
  readonly tls: NonNullable<TrustedServerOptions["tls"]>;
  readonly tokens: Omit<NonNullable<TrustedServerOptions["tokens"]>, "required" | "freeServices">;
  /** BridgeService; `grpc.health.v1` and reflection are added. */
  readonly routes: Routes;
  /** Calls to BridgeService wait for this. Default: they do not wait. */
  readonly ready?: Promise<void>;
}

/**
 * BridgeService with both layers of authentication: every RPC of every service needs a client certificate and a token.
 */
export function bridgeServing(deps: TrustedServerDeps, options: BridgeServingOptions): TrustedServer {
  const { routes, ready, tokens, ...rest } = options;
  const untilReady: Gate = async ({ service, signal }) => {
    if (ready !== undefined && service.typeName === BridgeService.typeName) await raceSignal(ready, signal);
  };
  return new TrustedServer(deps, {
    ...rest,
    tokens: { ...tokens, required: true, freeServices: new Set() },
    services: [BridgeService],
    rules: () => ({ routes, gates: [bridgeGate, untilReady] }),
    hostCheck: { anyHost: true, allowHosts: [], isFixed: true },
  });
}
