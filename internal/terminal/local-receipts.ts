import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { MachineTime, Moment } from "../base/machine-time.ts";
import { isMissing } from "../files/named-file.ts";
import { replaceSecret } from "../files/replace-secret.ts";
import { endOf, type NudgeRecord, type RestoredNudge, withoutText } from "../session/nudge-record.ts";

const KEEP_MS = 24 * 3_600_000;
const KEEP = 10_000;
/** One write in this many, on average, searches for old receipts, because each search reads the whole folder. */
const CLEAN_ONE_IN = 32;

export interface LocalReceiptsDeps {
  readonly clock: Pick<Clock, "now">;
  /** The time by which receipts age. */
  readonly time: MachineTime;
  readonly random: () => number;
}

/** The content of one file. */
interface Entry extends RestoredNudge {
  /** When it was written; absent in records of older versions. */
  readonly moment?: Moment;
}

/**
 * The outcome of each message to a local session, one file for each request id, for later calls of `gt`: an id is never
 * typed twice, even if a `gt` was killed half-way. Synchronous, because a record must be stored before the first byte
 * is typed.
 */
export class LocalReceipts {
  readonly #folder: string;
  readonly #prefix: string;
  readonly #deps: LocalReceiptsDeps;

  /** `folder` is private and exists; `session` names the session: socket path and session name. */
  constructor(folder: string, session: string, deps: LocalReceiptsDeps) {
    this.#folder = folder;
    this.#prefix = `nudge-${hash(session)}-`;
    this.#deps = deps;
  }

  /** The record of a request id; undefined if there is none, or if it is older than 24 h. */
  find(requestId: string): RestoredNudge | undefined {
    const text = readIfThere(this.#file(requestId));
    if (text === undefined) return undefined;
    try {
      const entry = JSON.parse(text) as Entry;
      return entry.nudge.requestId === requestId && !this.#isOld(entry) ? entry : undefined;
    } catch {
      throw new DomainError("unavailable", `cannot read the record of request id ${JSON.stringify(requestId)}`, {
        fields: { hint: "check first whether the message arrived, then send it with another --request-id" },
      });
    }
  }

  /** Records one step of a nudge; the record is on disk when this returns. */
  keep(record: NudgeRecord): void {
    if (record.type === "accepted") {
      this.#write({ nudge: record.nudge, intent: false });
      if (this.#deps.random() * CLEAN_ONE_IN < 1) this.#clean();
      return;
    }
    const known = this.find(record.type === "ended" ? record.receipt.requestId : record.requestId);
    if (known === undefined) return;
    const { nudge, intent } = known;
    if (record.type === "ended") {
      this.#write({ nudge: withoutText(nudge), intent, ended: endOf(record) });
    } else this.#write({ nudge, intent: record.type === "intent" });
  }

  #file(requestId: string): string {
    return join(this.#folder, `${this.#prefix}${hash(requestId)}.receipt`);
  }

  #isOld({ moment }: Entry): boolean {
    const { time } = this.#deps;
    return time.nowMs() - time.atMs(moment) >= KEEP_MS;
  }

  #write(nudge: RestoredNudge): void {
    const { time } = this.#deps;
    const entry: Entry = { ...nudge, moment: time.momentOf(time.nowMs()) };
    replaceSecret(this.#file(entry.nudge.requestId), JSON.stringify(entry));
  }

  /** Removes records that are too old, and all but the newest 10,000. The wall clock only selects the files to read. */
  #clean(): void {
    const files = readdirSync(this.#folder)
      .filter((name) => name.startsWith("nudge-"))
      .map((name) => join(this.#folder, name))
      .map((path) => ({ path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => b.at - a.at);
    const now = this.#deps.clock.now();
    const surplus = files.filter(
      ({ path, at }, index) => index >= KEEP || (now - at > KEEP_MS && this.#isOldFile(path)),
    );
    for (const { path } of surplus) rmSync(path, { force: true });
  }

  #isOldFile(path: string): boolean {
    const text = readIfThere(path);
    try {
      return text === undefined || this.#isOld(JSON.parse(text) as Entry);
    } catch {
      return true; // not a receipt of ours
    }
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw err;
  }
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}
