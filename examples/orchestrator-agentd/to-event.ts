import type { MessageInitShape } from "@bufbuild/protobuf";
import { AgentState, EventType, type SessionEvent } from "../../pkg/bridgeclient/index.ts";
import { Event_Kind, type EventSchema } from "./gen/orch/v1/agent_daemon_pb.ts";

type OwnEvent = MessageInitShape<typeof EventSchema>;

const KINDS: Readonly<Partial<Record<EventType, Event_Kind>>> = {
  [EventType.SESSION_STARTED]: Event_Kind.STARTED,
  [EventType.STDOUT]: Event_Kind.OUTPUT,
  [EventType.STDERR]: Event_Kind.OUTPUT,
  [EventType.PHASE_CHANGED]: Event_Kind.STATE,
  [EventType.BUFFER_OVERFLOW]: Event_Kind.LOST,
  [EventType.SESSION_STOPPED]: Event_Kind.FINISHED,
  [EventType.SESSION_FAILED]: Event_Kind.FAILED,
};

/** Converts a bridge's event to the orchestrator's format; undefined for an event that it does not need. */
export function toEvent(runId: string, event: SessionEvent): OwnEvent | undefined {
  const kind = KINDS[event.type];
  return kind === undefined ? undefined : { runId, number: event.seq, kind, text: textOf(event) };
}

function textOf({ type, text, state, error }: SessionEvent): string {
  if (type !== EventType.PHASE_CHANGED) return text || error;
  return Object.entries(AgentState).find(([, value]) => value === state)?.[0] ?? "";
}
