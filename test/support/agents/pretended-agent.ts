import type { Json } from "../../../internal/base/json-fields.ts";
import type { AgentEvent } from "../../../internal/bridge/provider.ts";
import type { Conversation, ProgramDialect } from "../../../internal/providers/conversation/conversation.ts";
import { FakeClock } from "../fake-clock.ts";

/** A conversation whose agent is the test: the messages written to it, and its events. */
export interface PretendedAgent {
  readonly conversation: Conversation;
  readonly written: readonly Json[];
  readonly events: readonly AgentEvent[];
  /** Sends this message; false: the conversation does not know its type. */
  say(message: object): boolean;
  /** Phases by their state, other events by their type, without output. */
  told(): readonly string[];
  text(): string;
}

export function pretendAgent(dialect: ProgramDialect, options: Readonly<Record<string, string>> = {}): PretendedAgent {
  const written: Json[] = [];
  const events: AgentEvent[] = [];
  const link = {
    clock: new FakeClock(),
    cwd: () => "/a/folder",
    endInput: () => {},
    emit: (event: AgentEvent) => void events.push(event),
    write: async (message: object) => void written.push(message as Json),
  };
  const session = { project: "p", sessionId: "s", repoPath: "/named", cwd: "/a/folder", options };
  const conversation = dialect.converse(link, session);
  return {
    ...{ conversation, written, events },
    say: (message) => conversation.onLine(JSON.stringify(message)),
    told: () =>
      events.flatMap((event) => (event.type === "output" ? [] : [event.type === "phase" ? event.state : event.type])),
    text: () => events.map((event) => (event.type === "output" ? event.text : "")).join(""),
  };
}
