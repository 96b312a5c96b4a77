import type { HandlerContext } from "@connectrpc/connect";
import type { AuditLog } from "../../auth/audit-log.ts";
import { RateLimiter } from "../../auth/rate-limiter.ts";
import type { Clock } from "../../base/clock.ts";
import { BridgeService } from "../../gen/bridge/v1/bridge_pb.ts";
import type { Routes } from "../../rpc/server/adapter.ts";
import { STRICT_JSON } from "../../rpc/server/strict-json.ts";
import { ReceiptSpans } from "../receipt-spans.ts";
import type { SessionBackend, SessionKey } from "../session-backend.ts";
import { CallAccess } from "./call-access.ts";
import { passThrough } from "./pass-through.ts";
import { sessionCalls } from "./session-calls.ts";
import { watchSessions } from "./watch-sessions.ts";

export interface BridgeServiceDeps {
  readonly clock: Clock;
  readonly backend: SessionBackend;
  /** Receives every decision about a project or a session. */
  readonly audit: Pick<AuditLog, "policy">;
  /** Absent: the spans of queued inputs end as `queued` with the call. */
  readonly receipts?: ReceiptSpans;
  /** False while the bridge is shutting down. */
  readonly isServing: () => boolean;
}

export interface BridgeLimits {
  /** Per issuer and project: subjects do not count separately, since the issuer chooses them. */
  readonly startsPerMinute: number;
  /** Per issuer and session: SendInput, Nudge, SendKeys and Respond together. */
  readonly inputsPerMinute: number;
  /** Longest text, in bytes of UTF-8. */
  readonly maxInputBytes: number;
}

/** BridgeService on a backend. The server's gates must have verified tokens (`TokenLayer`) and roles (`bridgeGate`). */
export function bridgeRoutes(deps: BridgeServiceDeps, limits: BridgeLimits): Routes {
  const { clock, backend, audit, isServing, receipts = new ReceiptSpans({ follows: false }) } = deps;
  const { startsPerMinute, inputsPerMinute, maxInputBytes } = limits;
  const access = new CallAccess({ backend, audit });
  const starts = new RateLimiter({ clock }, { what: "starts", perMinute: startsPerMinute });
  const inputs = new RateLimiter({ clock }, { what: "inputs", perMinute: inputsPerMinute });
  const countInput = (context: HandlerContext, { project, id }: SessionKey) =>
    inputs.take(project, access.issuer(context), id);
  return (router) => {
    const service = {
      ...sessionCalls({ backend, access, isServing, starts, countInput, maxInputBytes, receipts }),
      ...passThrough({ clock, backend, access, countInput, maxInputBytes, receipts }),
      ...watchSessions({ clock, backend, access }),
    };
    router.service(BridgeService, service);
    const { startSession, stopSession, sendInput, nudge, sendKeys, respond, attach } = BridgeService.method;
    router.rpc(startSession, service.startSession, STRICT_JSON);
    router.rpc(stopSession, service.stopSession, STRICT_JSON);
    router.rpc(sendInput, service.sendInput, STRICT_JSON);
    router.rpc(nudge, service.nudge, STRICT_JSON);
    router.rpc(sendKeys, service.sendKeys, STRICT_JSON);
    router.rpc(respond, service.respond, STRICT_JSON);
    router.rpc(attach, service.attach, STRICT_JSON);
  };
}
