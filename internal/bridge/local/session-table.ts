import { DomainError } from "../../base/errors.ts";
import { byAge } from "../list-page.ts";
import type { SessionKey } from "../session-backend.ts";
import type { LocalSession } from "./local-session.ts";

export interface TableLimits {
  /** Sessions that have not ended. */
  readonly maxPerProject: number;
  readonly maxGlobal: number;
}

/** Sessions that have ended, of all projects, and what their events take: beyond that the oldest are let go early. */
const MAX_ENDED = 1000;
const MAX_ENDED_BYTES = 256 * 1024 * 1024;

/** The sessions that are kept, by project and id. */
export class SessionTable {
  readonly #projects = new Map<string, Map<string, LocalSession>>();
  readonly #limits: TableLimits;

  constructor(limits: TableLimits) {
    this.#limits = limits;
  }

  get({ project, id }: SessionKey): LocalSession | undefined {
    return this.#projects.get(project)?.get(id);
  }

  /** The oldest first. */
  of(project: string): readonly LocalSession[] {
    return [...(this.#projects.get(project)?.values() ?? [])].toSorted(byStart);
  }

  all(): readonly LocalSession[] {
    return [...this.#projects.values()].flatMap((sessions) => [...sessions.values()]);
  }

  /** @throws DomainError `exhausted` when there is no room for one more session of this project */
  checkRoom(project: string): void {
    const { maxPerProject, maxGlobal } = this.#limits;
    const own = this.of(project).filter(isLive).length;
    if (own >= maxPerProject) throw tooMany(`the project has ${own} sessions`, maxPerProject);
    const all = this.all().filter(isLive).length;
    if (all >= maxGlobal) throw tooMany(`there are ${all} sessions`, maxGlobal);
  }

  add(session: LocalSession): void {
    const { project, id } = session.request;
    const sessions = this.#projects.get(project) ?? new Map<string, LocalSession>();
    this.#projects.set(project, sessions.set(id, session));
  }

  /** True: it was there. */
  remove(session: LocalSession): boolean {
    const { project, id } = session.request;
    const sessions = this.#projects.get(project);
    if (sessions?.get(id) !== session) return false;
    sessions.delete(id);
    if (sessions.size === 0) this.#projects.delete(project);
    return true;
  }

  /** Those that have ended and are to go although their retention continues, the oldest first. */
  overflow(): readonly LocalSession[] {
    const ended = this.all()
      .filter((session) => session.hasEnded)
      .toSorted((a, b) => endOf(b) - endOf(a));
    let bytes = 0;
    return ended.filter((session, i) => {
      bytes += session.log.bytes;
      return i >= MAX_ENDED || bytes > MAX_ENDED_BYTES;
    });
  }
}

function isLive(session: LocalSession): boolean {
  return !session.hasEnded;
}

function byStart(a: LocalSession, b: LocalSession): number {
  return byAge({ createdAt: a.createdAt, id: a.request.id }, { createdAt: b.createdAt, id: b.request.id });
}

function endOf({ state }: LocalSession): number {
  return "at" in state ? state.at : 0;
}

function tooMany(what: string, limit: number): DomainError {
  return new DomainError("exhausted", `${what}, of at most ${limit}: stop one first`, { fields: { limit } });
}
