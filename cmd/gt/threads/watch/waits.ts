import type { ThreadRow, WatchView } from "./watch-view.ts";
import { type Concern, whyWaits } from "./why-waits.ts";

/** A sender or an escalation that waits for an agent or a person. */
export interface Wait {
  readonly thread: string;
  readonly title: string;
  readonly from: string;
  /** The agent or person that is waited for. */
  readonly agent: string;
  /** The number of messages; 0: an escalation waits. */
  readonly count: number;
  /** The number of threads; `thread` and `title` are those of the one that has waited longest. */
  readonly threads: number;
  /** Wall clock, ms. */
  readonly since: number;
  readonly why: string;
  readonly concern: Concern;
}

const ORDER: readonly Concern[] = ["person", "wrong", "waits", "given"];

/**
 * Lists who waits for whom, and why: waits for people first, then problems, then other waits, then messages that have
 * reached the agent; each part oldest first. Joins waits of several threads that have the same sender, agent and
 * reason, and escalations likewise. `me`: the caller. `now`: wall clock, ms.
 */
export function waitsOf(view: WatchView, me: string, now: number): readonly Wait[] {
  const escalated = view.escalations.map((one): Wait => {
    const { reason, severity, owner, thread } = one;
    const title = view.thread(thread)?.title ?? "";
    const isTaken = one.state === "acknowledged";
    return {
      ...{ thread, title, from: `! ${severity}`, agent: owner, count: 0, threads: 1, since: one.createdAt },
      ...{
        why: `${isTaken ? "escalated, looked after" : "escalated"}: ${reason}`,
        concern: isTaken ? "given" : "person",
      },
    };
  });
  const waits = view.threads
    .filter(({ status }) => status !== "closed")
    .flatMap((thread) => ofThread(thread, view, me, now));
  return [...joined(escalated), ...joined(waits)].sort(
    (a, b) => ORDER.indexOf(a.concern) - ORDER.indexOf(b.concern) || a.since - b.since || (a.agent < b.agent ? -1 : 1),
  );
}

/** The thread of the next wait after the waits of the chosen thread; after the last wait, the first thread. */
export function nextThatWaits(waits: readonly Wait[], chosen: string | undefined): string | undefined {
  const threads = [...new Set(waits.map(({ thread }) => thread))];
  return threads[threads.indexOf(chosen ?? "") + 1] ?? threads[0];
}

function joined(waits: readonly Wait[]): readonly Wait[] {
  const all = new Map<string, Wait>();
  for (const wait of waits) {
    const key = JSON.stringify([wait.from, wait.agent, wait.why]);
    const there = all.get(key);
    if (there === undefined) all.set(key, wait);
    else {
      const oldest = wait.since < there.since ? wait : there;
      all.set(key, { ...oldest, count: there.count + wait.count, threads: there.threads + wait.threads });
    }
  }
  return [...all.values()];
}

function ofThread(thread: ThreadRow, view: WatchView, me: string, now: number): readonly Wait[] {
  const { id, title } = thread;
  return thread.waiting.map((waiter) => {
    const { agent, from, count, since } = waiter;
    const reason =
      agent === me
        ? ({ why: "for you to read", concern: "person" } as const)
        : whyWaits(thread, waiter, view.wakeOf(agent), now);
    return { thread: id, title, from, agent, count, threads: 1, since, ...reason };
  });
}
