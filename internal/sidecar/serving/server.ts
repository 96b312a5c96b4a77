import type { DescService } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { includes, type Role, type RoleRule } from "../../auth/roles.ts";
import type { TlsInUse } from "../../auth/tls/tls-in-use.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { type SidecarAttachInput, SidecarOutputUpdateSchema, SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../gen/gastown/v1/terminal_pb.ts";
import { WatchHub } from "../../pane/watch/watch-hub.ts";
import { callerKey, LOCAL_IDENTITY } from "../../rpc/port/caller.ts";
import { answering } from "../../rpc/server/calls.ts";
import { FrameSink } from "../../rpc/server/frame-sink.ts";
import { Frame } from "../../rpc/server/frames.ts";
import { STRICT_JSON } from "../../rpc/server/strict-json.ts";
import type { SidecarIdentity } from "../../session/sidecar-identity.ts";
import type { Asker } from "../../session/types.ts";
import { respondRequestOf, respondResponse } from "../../wire/dialog.ts";
import { nudgeRequestOf, nudgeResponse } from "../../wire/nudge.ts";
import { statusResponse } from "../../wire/status.ts";
import { outputUpdate, peekResponse, watchRequestOf } from "../../wire/watch.ts";
import type { Operator } from "../agent/operator.ts";
import { paneStatus } from "../agent/pane-status.ts";
import type { SidecarAgent } from "../agent/sidecar-agent.ts";
import { SESSION } from "../halves/options.ts";
import { abortAfterFinalUpdate } from "./abort-after-final-update.ts";
import { callerRole } from "./access.ts";
import { attachCall } from "./attach.ts";
import { eventMethods } from "./event-service.ts";

export interface SidecarServiceDeps {
  readonly clock: Clock;
  readonly agent: SidecarAgent;
  readonly operator: Operator;
  readonly identity: SidecarIdentity;
  readonly provider: string;
  /** The roles of callers over TLS. */
  readonly roleRules: readonly RoleRule[];
  /** The certificate and the CAs in use; both empty on plaintext. */
  readonly tlsInUse: () => TlsInUse;
  /** Called with the decision about a call by its request; `refusal` undefined: it may continue. */
  readonly decided: (context: HandlerContext, refusal: DomainError | undefined) => void;
  /** See `typeText` in sidecar/agent. */
  readonly typeText: (text: string) => Promise<string | undefined>;
}

type Methods<Service extends DescService> = keyof Service["method"];

/** The least role for each RPC. */
export const NEEDED_ROLES = {
  [SidecarService.typeName]: {
    peek: "read",
    status: "read",
    watchOutput: "read",
    streamEvents: "read",
    ackEvents: "read",
    nudge: "nudge",
    getNudge: "nudge",
    cancelNudge: "nudge",
    sendKeys: "operate",
    respond: "operate",
    attach: "read", // typing needs a higher role: see attach.ts
    stopAgent: "operate",
  } satisfies Record<Methods<typeof SidecarService>, Role>,
  [TerminalService.typeName]: { sendInput: "nudge" } satisfies Record<Methods<typeof TerminalService>, Role>,
} as const;

/** SidecarService and TerminalService over one agent. RPCs that do not exist yet answer `unimplemented`. */
export function sidecarRoutes(deps: SidecarServiceDeps): (router: ConnectRouter) => void {
  return (router) => {
    const sidecar = sidecarService(deps);
    const terminal = terminalService(deps);
    router.service(SidecarService, sidecar);
    const { nudge, sendKeys, respond, attach, stopAgent } = SidecarService.method;
    router.rpc(nudge, sidecar.nudge, STRICT_JSON);
    router.rpc(sendKeys, sidecar.sendKeys, STRICT_JSON);
    router.rpc(respond, sidecar.respond, STRICT_JSON);
    router.rpc(attach, sidecar.attach, STRICT_JSON);
    router.rpc(stopAgent, sidecar.stopAgent, STRICT_JSON);
    router.rpc(TerminalService.method.sendInput, terminal.sendInput, STRICT_JSON);
  };
}

function sidecarService(deps: SidecarServiceDeps) {
  const { clock, agent, operator, identity, provider, roleRules, tlsInUse, decided } = deps;
  const { lifecycle, terminal, stopper } = agent;
  const { mailbox } = agent.messages;
  const { people, peeker, output, monitor } = terminal;
  const askerOf = (context: HandlerContext): Asker => ({
    owner: context.values.get(callerKey).identity,
    seesAll: includes(callerRole(context, roleRules), "operate"),
  });
  const hub = new WatchHub(
    { clock, output, peeker, alive: () => lifecycle.alive, ended: () => terminal.ended },
    (update) => new Frame(SidecarOutputUpdateSchema, outputUpdate(update)),
  );
  return {
    async peek(request: { lines: number; all: boolean; ansi: boolean; joinWrapped: boolean }, context: HandlerContext) {
      const result = await peeker.peekForCall(request, context.signal);
      answering(context, result.output.length);
      return peekResponse(result);
    },
    status() {
      const { inputAt } = people;
      const numbers = { queueDepth: mailbox.depth, attached: people.count, versions: agent.versions() };
      const status = paneStatus({ lifecycle, output, report: monitor.report, ...numbers }, clock.now());
      return {
        ...statusResponse(status, identity, provider),
        ...tlsInUse(),
        personInputAt: inputAt && timestampFromMs(inputAt.wallMs),
      };
    },
    async nudge(request: Parameters<typeof nudgeRequestOf>[0], context: HandlerContext) {
      const wanted = nudgeRequestOf(request, senderAndOwner(request.sender, context));
      return nudgeResponse(await mailbox.send(wanted, context.signal));
    },
    getNudge({ requestId }: { requestId: string }, context: HandlerContext) {
      return nudgeResponse(mailbox.get(requestId, askerOf(context)));
    },
    cancelNudge({ requestId }: { requestId: string }, context: HandlerContext) {
      return nudgeResponse(mailbox.cancel(requestId, askerOf(context)));
    },
    async sendKeys(request: { keys: string[]; text: string; requestId: string }, context: HandlerContext) {
      await operator.sendKeys(request, context.signal, context.values.get(callerKey).identity);
      return { sent: true };
    },
    async respond(request: Parameters<typeof respondRequestOf>[0], context: HandlerContext) {
      const { identity } = context.values.get(callerKey);
      return respondResponse(await operator.respond(respondRequestOf(request), context.signal, identity));
    },
    ...eventMethods({ clock, events: agent.events, identity, provider }),
    async stopAgent({ graceMs, force }: { graceMs: bigint; force: boolean }, context: HandlerContext) {
      return await stopper.stop({ graceMs: Number(graceMs), force }, context.signal);
    },
    attach(requests: AsyncIterable<SidecarAttachInput>, context: HandlerContext) {
      return attachCall({ clock, agent, roleRules, decided, nameOf: senderOf }, requests, context);
    },
    async *watchOutput(request: Parameters<typeof watchRequestOf>[0], context: HandlerContext) {
      const signal = abortAfterFinalUpdate(clock, context.signal, () => terminal.ended);
      const { first, rest } = await hub.watch(watchRequestOf(request), signal);
      answering(context, first.output.length + first.data.length);
      yield outputUpdate(first);
      await rest(new FrameSink(context));
    },
  };
}

function terminalService({ agent, typeText, roleRules, decided }: SidecarServiceDeps) {
  return {
    async sendInput(request: { session: string; input: string; nudge: boolean }, context: HandlerContext) {
      if (request.session !== "" && request.session !== SESSION) {
        throw new DomainError(
          "not-found",
          `no session ${JSON.stringify(request.session)}: this sidecar has only the session "${SESSION}"`,
        );
      }
      if (!request.nudge) {
        const refusal = includes(callerRole(context, roleRules), "operate")
          ? undefined
          : new DomainError("denied", "this caller may not type without nudge=true: it needs the role operate");
        decided(context, refusal);
        if (refusal) throw refusal;
        const error = await typeText(request.input);
        return { delivered: error === undefined, error: error ?? "" };
      }
      const defaults = { requestId: "", mode: "wait-idle", timeoutMs: 0, priority: "normal", ttlMs: 0 } as const;
      const wanted = { ...defaults, message: request.input, ...senderAndOwner("", context) };
      const receipt = await agent.messages.mailbox.send(wanted, context.signal);
      return { delivered: receipt.outcome === "submitted", error: receipt.error };
    },
  };
}

/** The caller's identity if it is known, otherwise its claim, marked as unverified. */
function senderOf(claimed: string, context: HandlerContext): string {
  const { identity } = context.values.get(callerKey);
  if (identity !== "" && identity !== LOCAL_IDENTITY) return identity;
  return claimed === "" ? "unverified" : `${claimed.slice(0, 256)} (unverified)`;
}

function senderAndOwner(claimed: string, context: HandlerContext): { readonly sender: string; readonly owner: string } {
  return { sender: senderOf(claimed, context), owner: context.values.get(callerKey).identity };
}
