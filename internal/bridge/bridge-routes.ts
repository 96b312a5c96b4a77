import type { AuditLog } from "../auth/audit-log.ts";
import type { Clock } from "../base/clock.ts";
import { BridgeService } from "../gen/bridge/v1/bridge_pb.ts";
import type { Routes } from "../rpc/server/adapter.ts";
import type { SessionBackend } from "./session-backend.ts";

export interface BridgeServiceDeps {
  readonly clock: Clock;
  readonly backend: SessionBackend;
  /** Hears of every decision about a project or a session. */
  readonly audit: Pick<AuditLog, "policy">;
  /** False while the bridge is shutting down. */
  readonly isServing: () => boolean;
}

export interface BridgeLimits {
  /** Of one caller. */
  readonly startsPerMinute: number;
  /** Of one caller, to one session: SendInput, Nudge, SendKeys and Respond together. */
  readonly inputsPerMinute: number;
  /** Of a text, UTF-8. */
  readonly maxInputBytes: number;
}

/** `limits` and `input` of a configuration that says nothing of them. */
export const DEFAULT_LIMITS: BridgeLimits = { startsPerMinute: 120, inputsPerMinute: 600, maxInputBytes: 65_536 };

/** BridgeService over a backend. The server's gates must verify tokens (`TokenLayer`) and roles (`bridgeGate`) before. */
export function bridgeRoutes(_deps: BridgeServiceDeps, _limits: BridgeLimits): Routes {
  return (router) => {
    router.service(BridgeService, {});
  };
}
