import type { HandlerContext } from "@connectrpc/connect";
import { includes, type Role, type RoleRule, roleOf } from "../auth/roles.ts";
import { DomainError } from "../base/errors.ts";
import { SidecarService } from "../gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../gen/gastown/v1/terminal_pb.ts";
import { peerKey } from "../rpcserver/peer.ts";

/** The least role for each RPC. What is not listed (health, reflection) needs a certificate and nothing more. */
const NEEDED: Readonly<Record<string, Readonly<Record<string, Role>>>> = {
  [SidecarService.typeName]: {
    Peek: "read",
    Status: "read",
    WatchOutput: "read",
    StreamEvents: "read",
    AckEvents: "read",
    Nudge: "nudge",
    GetNudge: "nudge",
    CancelNudge: "nudge",
    SendKeys: "operate",
    Respond: "operate",
    Attach: "read", // to type takes more: see attach.ts
    StopAgent: "operate",
  },
  [TerminalService.typeName]: { SendInput: "nudge" },
};

/** The caller's role; without TLS nobody is known and everybody has all of it. */
export function callerRole(context: HandlerContext, rules: readonly RoleRule[]): Role | undefined {
  const peer = context.values.get(peerKey);
  return peer.type === "certificate" ? roleOf(peer.uris, rules) : "operate";
}

/** Refuses callers whose role is too low, before their request is read. */
export function roleGate(rules: readonly RoleRule[]): (context: HandlerContext) => void {
  return (context) => {
    const needed = NEEDED[context.service.typeName]?.[context.method.name];
    if (needed === undefined || includes(callerRole(context, rules), needed)) return;
    throw new DomainError("denied", `this caller may not call ${context.method.name}: it needs the role ${needed}`);
  };
}
