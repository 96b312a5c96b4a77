import { createHash } from "node:crypto";
import { DomainError } from "../base/errors.ts";
import type { SessionInfo, SessionStatusName } from "./session-backend.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1000;
const CHECKSUM_BYTES = 16;
const TIME_BYTES = 8;

export interface PageRequest {
  readonly project: string;
  /** 0: the default, 100. A page never has more than 1,000 sessions, even if `size` is larger. */
  readonly size: number;
  /** Empty: the first page. */
  readonly token: string;
  /** Empty: all. */
  readonly statuses: ReadonlySet<SessionStatusName>;
}

export interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  /** Empty: this is the last page. */
  readonly nextToken: string;
}

/**
 * One page of a list that may change between pages. The token names the last session of the page, so every session that
 * exists throughout is listed exactly once. The token contains a checksum, not a signature: every replica can read it,
 * even after a restart, and it grants no access. A token of another project or filter is an error.
 *
 * @param sessions the oldest first
 * @throws DomainError `invalid`
 */
export function sessionPage(sessions: readonly SessionInfo[], request: PageRequest): SessionPage {
  const { project, size, token, statuses } = request;
  if (size < 0) throw new DomainError("invalid", `page_size is 0 to ${MAX_PAGE}, not ${size}`);
  const most = Math.min(size || DEFAULT_PAGE, MAX_PAGE);
  const scope = JSON.stringify([project, [...statuses].toSorted()]);
  const after = token === "" ? undefined : readToken(token, scope);
  const wanted = sessions.filter(({ status }) => statuses.size === 0 || statuses.has(status));
  const rest = after === undefined ? wanted : wanted.filter((session) => byAge(session, after) > 0);
  const page = rest.slice(0, most);
  const last = page.at(-1);
  const isLast = last === undefined || rest.length === page.length;
  return { sessions: page, nextToken: isLast ? "" : tokenOf(last, scope) };
}

/** The order of a list. */
export function byAge(a: Place, b: Place): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : Number(a.id > b.id));
}

type Place = Pick<SessionInfo, "createdAt" | "id">;

// Layout of a token: the checksum, the time of creation as a float64, the id.

function tokenOf({ createdAt, id }: Place, scope: string): string {
  const time = Buffer.alloc(TIME_BYTES);
  time.writeDoubleBE(createdAt);
  const place = Buffer.concat([time, Buffer.from(id)]);
  return Buffer.concat([checksum(place, scope), place]).toString("base64url");
}

function readToken(token: string, scope: string): Place {
  const bytes = Buffer.from(token, "base64url");
  const place = bytes.subarray(CHECKSUM_BYTES);
  const isWhole = place.length > TIME_BYTES && bytes.toString("base64url") === token;
  const isOfList = isWhole && checksum(place, scope).equals(bytes.subarray(0, CHECKSUM_BYTES));
  if (!isOfList) throw new DomainError("invalid", "the page_token does not belong to this list");
  return { createdAt: place.readDoubleBE(), id: place.subarray(TIME_BYTES).toString() };
}

function checksum(place: Uint8Array, scope: string): Buffer {
  return createHash("sha256").update(scope).update("\0").update(place).digest().subarray(0, CHECKSUM_BYTES);
}
