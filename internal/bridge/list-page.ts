import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import type { SessionInfo, SessionStatusName } from "./session-backend.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1000;
const MAC_BYTES = 16;

export interface PageRequest {
  readonly project: string;
  /** 0: 100; at most 1,000. */
  readonly size: number;
  /** Empty: the first page. */
  readonly token: string;
  /** Empty: all. */
  readonly statuses: ReadonlySet<SessionStatusName>;
}

export interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  /** Empty: this is the last one. */
  readonly nextToken: string;
}

/**
 * Pages of a list that changes while it is read: a token names the last session of its page, so no session that is
 * there all the time is left out or comes twice. Tokens are signed: one that was not given out by this process, or for
 * another project or filter, is an error.
 */
export class Pages {
  readonly #key = randomBytes(32);

  /** `sessions`: the oldest first. @throws DomainError `invalid` */
  page(sessions: readonly SessionInfo[], request: PageRequest): SessionPage {
    const { project, size, token, statuses } = request;
    if (size < 0) throw new DomainError("invalid", `page_size is 0 to ${MAX_PAGE}, not ${size}`);
    const most = Math.min(size || DEFAULT_PAGE, MAX_PAGE);
    const scope = JSON.stringify([project, [...statuses].toSorted()]);
    const after = token === "" ? undefined : this.#read(token, scope);
    const wanted = sessions.filter(({ status }) => statuses.size === 0 || statuses.has(status));
    const rest = after === undefined ? wanted : wanted.filter((session) => isAfter(session, after));
    const page = rest.slice(0, most);
    const last = page.at(-1);
    const isLast = last === undefined || rest.length === page.length;
    return { sessions: page, nextToken: isLast ? "" : this.#write(last, scope) };
  }

  #write({ createdAt, id }: Place, scope: string): string {
    const place = Buffer.from(JSON.stringify([createdAt, id]));
    return Buffer.concat([this.#mac(place, scope), place]).toString("base64url");
  }

  #read(token: string, scope: string): Place {
    const bytes = Buffer.from(token, "base64url");
    const place = bytes.subarray(MAC_BYTES);
    const isWhole = bytes.length > MAC_BYTES && bytes.toString("base64url") === token;
    const isOurs = isWhole && timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#mac(place, scope));
    if (!isOurs) throw new DomainError("invalid", "the page_token does not belong to this list");
    const [createdAt, id] = JSON.parse(place.toString()) as [number, string];
    return { createdAt, id };
  }

  #mac(place: Uint8Array, scope: string): Buffer {
    return createHmac("sha256", this.#key).update(scope).update("\0").update(place).digest().subarray(0, MAC_BYTES);
  }
}

type Place = Pick<SessionInfo, "createdAt" | "id">;

/** The order of a list. */
export function byAge(a: Place, b: Place): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : Number(a.id > b.id));
}

function isAfter(session: Place, place: Place): boolean {
  return byAge(session, place) > 0;
}
