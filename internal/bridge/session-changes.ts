import { SignalBus } from "../base/signal-bus.ts";
import type { SessionChange } from "./session-backend.ts";

interface Reader {
  /** By session id: the last change. */
  readonly due: Map<string, SessionChange>;
  readonly woken: SignalBus;
}

/** Broadcasts changes of a project's sessions; a slow reader gets only the last change of each session. */
export class SessionChanges {
  readonly #readers = new Map<string, Set<Reader>>();

  tell(change: SessionChange): void {
    for (const { due, woken } of this.#readers.get(change.session.project) ?? []) {
      const { id } = change.session;
      const before = due.get(id);
      due.delete(id);
      due.set(id, merged(before, change));
      woken.notify();
    }
  }

  /** Changes from this call on. Fails with the signal's reason. */
  read(project: string, signal: AbortSignal): AsyncIterable<SessionChange> {
    const reader: Reader = { due: new Map(), woken: new SignalBus() };
    const readers = this.#readers.get(project) ?? new Set();
    this.#readers.set(project, readers.add(reader));
    const leave = () => {
      readers.delete(reader);
      if (readers.size === 0 && this.#readers.get(project) === readers) this.#readers.delete(project);
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    return drain(reader, signal);
  }
}

async function* drain({ due, woken }: Reader, signal: AbortSignal): AsyncGenerator<SessionChange, void> {
  for (;;) {
    const [first] = due;
    if (first === undefined) await woken.next(signal);
    else {
      due.delete(first[0]);
      yield first[1];
    }
  }
}

/** Keeps a receipt that the reader has not got yet, in the session's next change. */
function merged(before: SessionChange | undefined, change: SessionChange): SessionChange {
  if (before?.type !== "changed" || change.type !== "changed") return change;
  return { ...change, receipt: change.receipt ?? before.receipt };
}
