import type { HandlerContext } from "@connectrpc/connect";
import type { Clock } from "../../base/clock.ts";
import type { SidecarAckEventsRequest, SidecarStreamEventsRequest } from "../../gen/gastown/v1/sidecar_pb.ts";
import { callerKey } from "../../rpc/port/caller.ts";
import { sendHead } from "../../rpc/server/response-head.ts";
import type { SessionEvents } from "../../session/events.ts";
import type { SidecarIdentity } from "../../session/sidecar-identity.ts";
import { eventMessage } from "../../wire/event.ts";

export interface EventServiceDeps {
  readonly clock: Clock;
  readonly events: SessionEvents;
  readonly identity: SidecarIdentity;
  readonly provider: string;
}

/**
 * StreamEvents and AckEvents. A stream's headers report that it has begun: from then on no event is missed, however
 * long the first one takes. A stream takes an event from the log when the transport has taken the one before.
 */
export function eventMethods({ clock, events, identity, provider }: EventServiceDeps) {
  const { sessionId, project } = identity;
  const session = { sessionId, projectId: project, provider };
  return {
    async *streamEvents(request: SidecarStreamEventsRequest, context: HandlerContext) {
      const { afterSeq: after, subscriberId: subscriber, epoch } = request;
      const followed = events.follow({ after, subscriber, owner: ownerOf(context), epoch }, context.signal);
      sendHead(context);
      for await (const each of followed) yield eventMessage(each, session, clock.now());
    },
    ackEvents({ subscriberId: subscriber, ackSeq, epoch }: SidecarAckEventsRequest, context: HandlerContext) {
      events.acknowledge({ owner: ownerOf(context), subscriber }, ackSeq, epoch);
      return {};
    },
  };
}

function ownerOf(context: HandlerContext): string {
  return context.values.get(callerKey).identity;
}
