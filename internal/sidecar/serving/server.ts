import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { includes, type RoleRule } from "../../auth/roles.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { type SidecarAttachInput, SidecarOutputUpdateSchema, SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../gen/gastown/v1/terminal_pb.ts";
import { WatchHub } from "../../pane/watch/watch-hub.ts";
import { peerKey } from "../../rpc/port/peer.ts";
import { answering } from "../../rpc/server/calls.ts";
import { Frame } from "../../rpc/server/frames.ts";
import { FrameSink } from "../../rpc/server/shared-stream.ts";
import {
  nudgeRequestOf,
  nudgeResponse,
  outputUpdate,
  peekResponse,
  respondRequestOf,
  respondResponse,
  statusResponse,
  watchRequestOf,
} from "../../wire/to-proto.ts";
import type { LiveAgent } from "../agent/live-agent.ts";
import type { Operator } from "../agent/operator.ts";
import { SESSION, type SidecarIdentity } from "../halves/options.ts";
import { callerRole } from "./access.ts";
import { attachCall } from "./attach.ts";
import { eventMethods } from "./event-service.ts";
import { withLastWord } from "./last-word.ts";

export interface ServiceDeps {
  readonly clock: Clock;
  readonly agent: LiveAgent;
  readonly operator: Operator;
  readonly identity: SidecarIdentity;
  readonly provider: string;
  /** Who may do what over TLS. */
  readonly roleRules: readonly RoleRule[];
  /** Types text as it is, without submitting; never into a dialog or onto a draft. */
  readonly typeText: (text: string) => Promise<void>;
}

/** SidecarService and TerminalService over one agent. RPCs that are not there yet answer `unimplemented`. */
export function sidecarRoutes(deps: ServiceDeps): (router: ConnectRouter) => void {
  return (router) => {
    router.service(SidecarService, sidecarService(deps));
    router.service(TerminalService, terminalService(deps));
  };
}

function sidecarService({ clock, agent, operator, identity, provider, roleRules }: ServiceDeps) {
  const alive = () => agent.isAlive;
  const hub = new WatchHub(
    { clock, output: agent.output, peeker: agent.peeker, alive, ended: () => agent.ended },
    (update) => new Frame(SidecarOutputUpdateSchema, outputUpdate(update)),
  );
  return {
    async peek(request: { lines: number; all: boolean; ansi: boolean; joinWrapped: boolean }, context: HandlerContext) {
      const result = await agent.peeker.peek(request, context.signal);
      answering(context, result.output.length);
      return peekResponse(result);
    },
    status() {
      return statusResponse(agent.status(), identity, provider);
    },
    async nudge(request: Parameters<typeof nudgeRequestOf>[0], context: HandlerContext) {
      const wanted = nudgeRequestOf(request, senderOf(request.sender, context));
      return nudgeResponse(await agent.mailbox.send(wanted, context.signal));
    },
    getNudge({ requestId }: { requestId: string }) {
      return nudgeResponse(agent.mailbox.get(requestId));
    },
    cancelNudge({ requestId }: { requestId: string }) {
      return nudgeResponse(agent.mailbox.cancel(requestId));
    },
    async sendKeys(request: { keys: string[]; text: string; requestId: string }, context: HandlerContext) {
      await operator.sendKeys(request, context.signal);
      return { sent: true };
    },
    async respond(request: Parameters<typeof respondRequestOf>[0], context: HandlerContext) {
      return respondResponse(await operator.respond(respondRequestOf(request), context.signal));
    },
    ...eventMethods({ clock, agent, identity, provider }),
    async stopAgent({ graceMs, force }: { graceMs: bigint; force: boolean }, context: HandlerContext) {
      return await agent.stopper.stop({ graceMs: Number(graceMs), force }, context.signal);
    },
    attach(requests: AsyncIterable<SidecarAttachInput>, context: HandlerContext) {
      return attachCall({ clock, agent, roleRules, nameOf: senderOf }, requests, context);
    },
    async *watchOutput(request: Parameters<typeof watchRequestOf>[0], context: HandlerContext) {
      const signal = withLastWord(clock, context.signal, () => agent.ended);
      const { first, rest } = await hub.watch(watchRequestOf(request), signal);
      answering(context, first.output.length + first.data.length);
      yield outputUpdate(first);
      await rest(new FrameSink(context));
    },
  };
}

function terminalService({ agent, typeText, roleRules }: ServiceDeps) {
  return {
    async sendInput(request: { session: string; input: string; nudge: boolean }, context: HandlerContext) {
      if (request.session !== "" && request.session !== SESSION) {
        throw new DomainError(
          "not-found",
          `no session ${JSON.stringify(request.session)} here: the one there is is "${SESSION}"`,
        );
      }
      if (!request.nudge) {
        if (!includes(callerRole(context, roleRules), "operate")) {
          throw new DomainError("denied", "this caller may not type without nudge=true: it needs the role operate");
        }
        await typeText(request.input);
        return { delivered: true, error: "" };
      }
      const defaults = { requestId: "", mode: "wait-idle", timeoutMs: 0, priority: "normal", ttlMs: 0 } as const;
      const wanted = { ...defaults, message: request.input, sender: senderOf("", context) };
      const receipt = await agent.mailbox.send(wanted, context.signal);
      return { delivered: receipt.outcome === "submitted", error: receipt.error };
    },
  };
}

/** With a certificate the peer's identity, else what the caller claims, marked so. */
function senderOf(claimed: string, context: HandlerContext): string {
  const peer = context.values.get(peerKey);
  if (peer.type === "certificate") return peer.uris[0] ?? `certificate ${peer.serial}`;
  return claimed === "" ? "unverified" : `${claimed.slice(0, 256)} (unverified)`;
}
