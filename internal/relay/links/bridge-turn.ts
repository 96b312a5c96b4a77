import type {
  AgentPhase,
  BridgeDialog,
  BridgeEvent,
  BridgeInputOutcome,
  EventGap,
  InputAnswer,
} from "./bridge-sessions.ts";

/** The turn that has kept the agent busy since the input was received: none, an earlier one, or ours. */
type Busy = "no" | "earlier" | "ours";

/** The end of a turn. */
export type TurnEnd =
  | { readonly type: "over" }
  /** Nothing was typed, and nothing will be typed under this key. */
  | { readonly type: "not-taken"; readonly outcome: BridgeInputOutcome | "ended"; readonly error: string }
  | { readonly type: "unsafe"; readonly error: string }
  /** The input was withdrawn before it was typed. */
  | { readonly type: "withdrawn" }
  /** It is unknown whether the agent received the input, or how far it acted on it. */
  | { readonly type: "uncertain"; readonly why: string };

/** A turn of an agent behind a bridge, as its events so far show it. */
export interface BridgeTurn {
  /** The idempotency key of the input. */
  readonly key: string;
  readonly epoch: string;
  readonly seq: number;
  readonly phase: AgentPhase;
  readonly isReceived: boolean;
  readonly isSubmitted: boolean;
  readonly busy: Busy;
  /** The agent's output since the input was received, or since the previous turn ended if that is later. */
  readonly text: string;
  /** The length of the complete text; beyond `maxBytes`, `text` is empty. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** Missing events of the turn; at most `MAX_GAPS` gaps. */
  readonly gaps: readonly EventGap[];
  /** True if events of the turn are missing: any event may have happened unseen. */
  readonly isBlind: boolean;
  readonly dialog: BridgeDialog | undefined;
  readonly end: TurnEnd | undefined;
}

/** The last event that was read from a session's log, and the agent's state after it. */
export interface EventPlace {
  readonly epoch: string;
  readonly seq: number;
  readonly phase: AgentPhase;
}

const MAX_GAPS = 16;

/** The states of an agent in the middle of a turn. */
const OCCUPIED: ReadonlySet<AgentPhase> = new Set<AgentPhase>(["busy", "dialog", "parked", "stalled"]);

/** The turn before its first event. `maxBytes`: the longest text. */
export function beginTurn({ epoch, seq, phase }: EventPlace, key: string, maxBytes: number): BridgeTurn {
  const nothing = { isReceived: false, isSubmitted: false, busy: "no", text: "", bytes: 0, gaps: [] } as const;
  return { key, epoch, seq, phase, maxBytes, ...nothing, isBlind: false, dialog: undefined, end: undefined };
}

/**
 * The turn after one more event; pure. The turn is over when its input has been submitted and the agent is idle after
 * it has been busy or in a dialog since the input was received. If the agent was busy when the input was received, its
 * first idle state ends the previous turn, unless the input has been submitted by then.
 */
export function afterEvent(turn: BridgeTurn, event: BridgeEvent): BridgeTurn {
  if (turn.end !== undefined) return turn;
  if (event.epoch !== turn.epoch) return ended(turn, { type: "uncertain", why: "the session's log was restarted" });
  const next = { ...turn, seq: event.seq };
  switch (event.type) {
    case "input":
      return event.key === turn.key ? received(next) : next;
    case "receipt":
      return event.key === turn.key ? settled(next, event) : next;
    case "phase":
      return entered(next, event.phase);
    case "output":
      return turn.isReceived ? printed(next, event.text) : next;
    case "gap":
      return missed(next, event.gap, event.seq);
    case "dialog-opened":
      return { ...next, dialog: event.dialog };
    case "dialog-closed":
      return { ...next, dialog: undefined };
    case "ended":
      return agentEnded({ ...next, dialog: undefined }, event);
    case "other":
      return next;
  }
}

/**
 * The turn after the answer to its input. The answer counts only if events are missing: the receipt may be one of them.
 */
export function afterAnswer(turn: BridgeTurn, answer: InputAnswer): BridgeTurn {
  if (turn.end !== undefined || !turn.isBlind) return turn;
  return settled({ ...turn, isReceived: true }, answer);
}

function received(turn: BridgeTurn): BridgeTurn {
  if (turn.isReceived) return turn;
  const whole = { gaps: [], isBlind: false };
  return { ...turn, ...whole, isReceived: true, busy: OCCUPIED.has(turn.phase) ? "earlier" : "no" };
}

function settled(turn: BridgeTurn, { outcome, error }: InputAnswer): BridgeTurn {
  switch (outcome) {
    case "queued":
      return turn;
    case "submitted":
      return endedIfOver(occupied({ ...turn, isReceived: true, isSubmitted: true }));
    case "blocked-by-dialog":
    case "composer-busy":
    case "agent-dead":
    case "expired":
      return ended(turn, { type: "not-taken", outcome, error });
    case "unsafe":
      return ended(turn, { type: "unsafe", error });
    case "cancelled":
      return ended(turn, { type: "withdrawn" });
    case "stranded":
    case "unknown":
      return ended(turn, { type: "uncertain", why: `the input is ${outcome}` });
  }
}

function entered(turn: BridgeTurn, phase: AgentPhase): BridgeTurn {
  const next = { ...turn, phase };
  if (!turn.isReceived) return next;
  const isEarlierEnd = phase === "idle" && turn.busy === "earlier" && !turn.isSubmitted;
  return isEarlierEnd ? { ...next, busy: "no", text: "", bytes: 0 } : endedIfOver(occupied(next));
}

/**
 * Marks this turn as the one that keeps the agent busy, if the agent is busy with it. Once the input has been
 * submitted, a dialog counts too, because it may open before the agent is seen busy; an earlier dialog may belong to
 * something else.
 */
function occupied(turn: BridgeTurn): BridgeTurn {
  const isOurs = turn.phase === "busy" || (turn.isSubmitted && OCCUPIED.has(turn.phase));
  return isOurs && turn.busy === "no" ? { ...turn, busy: "ours" } : turn;
}

function endedIfOver(turn: BridgeTurn): BridgeTurn {
  const isOver = turn.isSubmitted && turn.phase === "idle" && turn.busy !== "no";
  return isOver ? ended(turn, { type: "over" }) : turn;
}

function printed(turn: BridgeTurn, text: string): BridgeTurn {
  const bytes = turn.bytes + Buffer.byteLength(text);
  return { ...turn, bytes, text: bytes > turn.maxBytes ? "" : turn.text + text };
}

/**
 * The turn after a gap. A gap that begins at the event's own number is lost output; any other may hide events of every
 * kind.
 */
function missed(turn: BridgeTurn, gap: EventGap, seq: number): BridgeTurn {
  const gaps = turn.gaps.length < MAX_GAPS ? [...turn.gaps, gap] : turn.gaps;
  if (gap.first === seq) return turn.isReceived ? { ...turn, gaps } : turn;
  const next: BridgeTurn = { ...turn, gaps, isBlind: true, phase: "unspecified", dialog: undefined };
  return turn.isReceived && turn.busy === "no" ? { ...next, busy: "ours" } : next;
}

function agentEnded(turn: BridgeTurn, { isLast, error }: { readonly isLast: boolean; readonly error: string }) {
  if (turn.isSubmitted || (isLast && (turn.isReceived || turn.isBlind))) {
    return ended(turn, { type: "uncertain", why: "the agent ended" });
  }
  return isLast ? ended(turn, { type: "not-taken", outcome: "ended", error }) : { ...turn, phase: "starting" as const };
}

function ended(turn: BridgeTurn, end: TurnEnd): BridgeTurn {
  return { ...turn, end };
}
