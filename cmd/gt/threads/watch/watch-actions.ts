import { randomUUID } from "node:crypto";
import { DomainError } from "../../../../internal/base/errors.ts";
import { asText } from "../../../../internal/base/json-fields.ts";
import type { CallOperation } from "../common/with-threads.ts";
import type { ThreadRow, WatchView } from "./watch-view.ts";

interface Given {
  readonly thread: ThreadRow;
  readonly view: WatchView;
  /** The text that the person has typed. */
  readonly answer: string;
  /** Wall clock, ms. */
  readonly now: number;
}

/** An action on the chosen thread: a question to the person, and a function that acts on the answer. */
export interface Action {
  /** Undefined: the action needs no answer. */
  readonly question?: (thread: ThreadRow) => string;
  /** Returns a note on the result. @throws DomainError if the server refuses or the answer is not valid */
  readonly run: (call: CallOperation, given: Given) => Promise<string>;
}

const STATUSES = ["active", "blocked", "resolved", "closed"];
const ADDRESSED = /^@(\S+)\s+/;

/** The actions, by key. */
export const ACTIONS: Readonly<Record<string, Action>> = {
  p: {
    question: ({ id }) => `post to ${id.slice(0, 8)}, @AGENT first: to one>`,
    run: async (call, { thread: { id }, answer }) => {
      const to: string[] = [];
      let text = answer;
      for (let found = ADDRESSED.exec(text); found !== null; found = ADDRESSED.exec(text)) {
        to.push(found[1] ?? "");
        text = text.slice(found[0].length);
      }
      const given = { thread_id: id, text, idempotency_key: randomUUID(), to: to.length > 0 ? to : undefined };
      return `posted #${Number((await call("post_message", given))["seq"])}`;
    },
  },
  o: {
    question: ({ status }) => `${status} → STATUS REASON>`,
    run: async (call, { thread: { id, version }, answer }) => {
      const [given = "", ...reason] = answer.trim().split(/\s+/);
      const status = STATUSES.find((one) => one === given);
      if (status === undefined) throw new DomainError("invalid", `a status is one of ${STATUSES.join(", ")}`);
      const change = { thread_id: id, expected_version: version, status, reason: reason.join(" ") };
      await call("update_thread_status", change);
      return `${id} is ${status}`;
    },
  },
  w: {
    question: ({ waiting }) => `wake ${waiting.map(({ agent }) => agent).join(", ") || "no one"}: REASON>`,
    run: async (call, { thread: { id, waiting }, answer }) => {
      if (waiting.length === 0) throw new DomainError("precondition", "the thread waits for no one");
      const reason = answer.trim() || "asked for by a person";
      const told = await Promise.all(
        waiting.map(async ({ agent }) => {
          try {
            const wake = await call("trigger_participant", { thread_id: id, agent_id: agent, reason });
            return `${agent} ${asText(wake["state"])}`;
          } catch (err) {
            if (err instanceof DomainError && err.fields["code"] === "UNMANAGED_RUNTIME") return err.message;
            throw err;
          }
        }),
      );
      return told.join(", ");
    },
  },
  z: {
    run: async (call, { thread: { id, pausedUntil }, now }) => {
      const isPaused = pausedUntil !== undefined && pausedUntil > now;
      await call(isPaused ? "resume" : "pause", { thread_id: id });
      return isPaused ? `wakes for ${id} go on` : `no one is woken for ${id}; messages stay`;
    },
  },
  a: {
    run: async (call, { thread: { id }, view }) => {
      const open = view.escalations.filter((one) => one.thread === id && one.state === "open");
      if (open.length === 0) throw new DomainError("precondition", "the thread has no escalation that is open");
      for (const one of open) await call("acknowledge_escalation", { escalation_id: one.id });
      return `${open.length === 1 ? "the escalation is" : `${open.length} escalations are`} acknowledged`;
    },
  },
};
