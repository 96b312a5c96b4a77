import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../base/errors.ts";
import { type NudgeRecord, type RestoredNudge, withoutText } from "../session/nudge-record.ts";

const KEEP_MS = 24 * 3_600_000;
const KEEP = 10_000;
/** Old ones are looked for once in so many writes: each look reads the whole folder. */
const CLEAN_ONE_IN = 32;

/**
 * What became of each message to a local session, one file for each request id, for whichever `gt` asks next: so that an id
 * is never typed twice, also when a `gt` was killed half-way. Synchronous, because a record must be kept before the first
 * byte is typed.
 */
export class LocalReceipts {
  readonly #folder: string;
  readonly #prefix: string;
  readonly #now: () => number;
  readonly #random: () => number;

  /** `folder` is private and exists; `session` names the session: socket path and session name. */
  constructor(folder: string, session: string, deps: { readonly now: () => number; readonly random: () => number }) {
    this.#folder = folder;
    this.#prefix = `nudge-${hash(session)}-`;
    this.#now = deps.now;
    this.#random = deps.random;
  }

  /** What is known of a request id; undefined when nothing is, or not any more (24 h). */
  find(requestId: string): RestoredNudge | undefined {
    let text: string;
    try {
      text = readFileSync(this.#file(requestId), "utf8");
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw err;
    }
    try {
      const entry = JSON.parse(text) as RestoredNudge;
      if (entry.nudge.requestId !== requestId) return undefined;
      return this.#now() - (entry.ended?.at ?? entry.nudge.acceptedAt) < KEEP_MS ? entry : undefined;
    } catch {
      throw new DomainError("unavailable", `cannot read the record of request id ${JSON.stringify(requestId)}`, {
        fields: { hint: "send with another --request-id; look first whether the message arrived" },
      });
    }
  }

  /** Keeps one step of a message's way; on disk when it returns. */
  keep(record: NudgeRecord): void {
    if (record.type === "accepted") {
      this.#write({ nudge: record.nudge, intent: false });
      if (this.#random() * CLEAN_ONE_IN < 1) this.#clean();
      return;
    }
    const known = this.find(record.type === "ended" ? record.receipt.requestId : record.requestId);
    if (known === undefined) return;
    const { nudge, intent } = known;
    if (record.type === "ended") {
      const ended = { receipt: record.receipt, at: record.at };
      this.#write({ nudge: withoutText(nudge), intent, ended });
    } else this.#write({ nudge, intent: record.type === "intent" });
  }

  #file(requestId: string): string {
    return join(this.#folder, `${this.#prefix}${hash(requestId)}.receipt`);
  }

  #write(entry: RestoredNudge): void {
    const file = this.#file(entry.nudge.requestId);
    const part = join(this.#folder, `.${randomUUID()}.tmp`);
    writeFileSync(part, JSON.stringify(entry), { mode: 0o600, flag: "wx" });
    renameSync(part, file);
  }

  /** Removes what is too old, and of the rest all but the newest. */
  #clean(): void {
    const files = readdirSync(this.#folder)
      .filter((name) => name.startsWith("nudge-"))
      .map((name) => join(this.#folder, name))
      .map((path) => ({ path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => b.at - a.at);
    const old = files.filter(({ at }, index) => index >= KEEP || this.#now() - at > KEEP_MS);
    for (const { path } of old) rmSync(path, { force: true });
  }
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}
