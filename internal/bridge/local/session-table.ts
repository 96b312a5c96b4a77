import { DomainError } from "../../base/errors.ts";
import { byAge } from "../list-page.ts";
import { agentAddressOf } from "../session-agent.ts";
import type { SessionKey, StartRequest } from "../session-backend.ts";
import type { LocalSession } from "./local-session.ts";

export interface TableLimits {
  /** Limits of sessions that have not ended. */
  readonly maxPerProject: number;
  readonly maxGlobal: number;
}

/**
 * Limits of ended sessions of all projects, by number and by bytes of their events. Beyond these, the sessions that
 * ended first are dropped early, from the project that keeps the most, so that a project with many sessions displaces
 * only its own.
 */
const MAX_ENDED = 1000;
const MAX_ENDED_BYTES = 256 * 1024 * 1024;

/** The part of a session that the table uses. */
type Kept = Pick<LocalSession, "request" | "createdAt" | "hasEnded" | "state"> & {
  readonly log: Pick<LocalSession["log"], "bytes">;
};

/** The sessions that are kept, by project and id. */
export class SessionTable<S extends Kept = LocalSession> {
  readonly #projects = new Map<string, Map<string, S>>();
  readonly #limits: TableLimits;

  constructor(limits: TableLimits) {
    this.#limits = limits;
  }

  get({ project, id }: SessionKey): S | undefined {
    return this.#projects.get(project)?.get(id);
  }

  /** The project's sessions, the oldest first. */
  of(project: string): readonly S[] {
    return [...(this.#projects.get(project)?.values() ?? [])].toSorted(byStart);
  }

  all(): readonly S[] {
    return [...this.#projects.values()].flatMap((sessions) => [...sessions.values()]);
  }

  /** @throws DomainError `exhausted` if the project or this host has reached its limit */
  checkRoom(project: string): void {
    const { maxPerProject, maxGlobal } = this.#limits;
    const own = this.of(project).filter(isLive).length;
    if (own >= maxPerProject) throw tooMany(`the project has ${own} sessions`, maxPerProject);
    const all = this.all().filter(isLive).length;
    if (all >= maxGlobal) throw tooMany(`there are ${all} sessions`, maxGlobal);
  }

  /** @throws DomainError `precondition` if the agent that `agent_opts.agent` names has a session that has not ended */
  checkAgent(request: StartRequest): void {
    if (request.agentOpts["agent"] === undefined) return;
    const agent = agentAddressOf(request);
    const other = this.of(request.project).find((one) => isLive(one) && agentAddressOf(one.request) === agent);
    if (other === undefined) return;
    throw new DomainError("precondition", `the agent ${agent} has a session: ${other.request.id}`, {
      fields: { session: other.request.id, hint: "stop that session, or name another agent" },
    });
  }

  add(session: S): void {
    const { project, id } = session.request;
    const sessions = this.#projects.get(project) ?? new Map<string, S>();
    this.#projects.set(project, sessions.set(id, session));
  }

  /** Returns false if the session was not in the table. */
  remove(session: S): boolean {
    const { project, id } = session.request;
    const sessions = this.#projects.get(project);
    if (sessions?.get(id) !== session) return false;
    sessions.delete(id);
    if (sessions.size === 0) this.#projects.delete(project);
    return true;
  }

  /** Ended sessions to drop before their retention is over. */
  overflow(): readonly S[] {
    const projects = [...this.#projects.values()].map((sessions) => {
      const ended = [...sessions.values()].filter((session) => session.hasEnded);
      return ended.toSorted((a, b) => endOf(a) - endOf(b)).map((session) => ({ session, bytes: session.log.bytes }));
    });
    return [...beyond(projects, MAX_ENDED, () => 1), ...beyond(projects, MAX_ENDED_BYTES, ({ bytes }) => bytes)].map(
      ({ session }) => session,
    );
  }
}

/**
 * Removes the oldest item of the heaviest list, until all lists together weigh no more than `most`; returns the removed
 * items.
 */
function beyond<T>(lists: readonly T[][], most: number, weightOf: (item: T) => number): readonly T[] {
  const weighed = lists.map((items) => ({ items, weight: items.reduce((sum, item) => sum + weightOf(item), 0) }));
  const taken: T[] = [];
  for (let all = weighed.reduce((sum, { weight }) => sum + weight, 0); all > most; ) {
    const heaviest = weighed.reduce((a, b) => (b.weight > a.weight ? b : a));
    const oldest = heaviest.items.shift();
    if (oldest === undefined) break;
    taken.push(oldest);
    heaviest.weight -= weightOf(oldest);
    all -= weightOf(oldest);
  }
  return taken;
}

function isLive(session: Kept): boolean {
  return !session.hasEnded;
}

function byStart(a: Kept, b: Kept): number {
  return byAge({ createdAt: a.createdAt, id: a.request.id }, { createdAt: b.createdAt, id: b.request.id });
}

function endOf({ state }: Kept): number {
  return "at" in state ? state.at : 0;
}

function tooMany(what: string, limit: number): DomainError {
  return new DomainError("exhausted", `${what}, of at most ${limit}: stop one first`, { fields: { limit } });
}
