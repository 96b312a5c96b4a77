import { auditHash, bodyHash, messageHash } from "../domain/hashes.ts";
import type { ChainReport } from "../domain/store.ts";
import * as rows from "./rows.ts";

type Row = Readonly<Record<string, unknown>>;
type All = (text: string, ...values: readonly unknown[]) => Promise<readonly Row[]>;

const PAGE = 500;
const MAX_BROKEN = 100;

/** Checks the chains of one workspace: that no row is changed, missing or added. `all` binds the workspace to `$1`. */
export async function verifyChains(all: All): Promise<ChainReport> {
  const broken: { threadId?: string; seq: number }[] = [];
  let checked = await verifyAudit(all, (seq) => broken.push({ seq }));
  const threads = await all("select thread_id, last_seq, head_hash from threads.thread where workspace_id = $1");
  for (const thread of threads) {
    if (broken.length >= MAX_BROKEN) break;
    const threadId = thread["thread_id"] as string;
    checked += await verifyThread(all, thread, (seq) => broken.push({ threadId, seq }));
  }
  return { checked, broken };
}

async function verifyAudit(all: All, onBroken: (seq: number) => void): Promise<number> {
  let hash = "";
  let seq = 0;
  for (;;) {
    const page = await all(
      "select * from threads.audit where workspace_id = $1 and seq > $2 order by seq limit $3",
      seq,
      PAGE,
    );
    for (const row of page) {
      const entry = rows.auditOf(row);
      const isNext = entry.seq === seq + 1 && row["prev_hash"] === hash;
      if (!isNext || row["hash"] !== auditHash(hash, entry)) {
        onBroken(isNext ? entry.seq : seq + 1);
        return entry.seq;
      }
      hash = row["hash"] as string;
      seq = entry.seq;
    }
    if (page.length < PAGE) break;
  }
  const [head] = await all("select audit_seq, audit_head from threads.workspace where workspace_id = $1");
  // Rows that were added meanwhile are checked the next time.
  if (head !== undefined && Number(head["audit_seq"]) < seq) onBroken(seq);
  if (head !== undefined && Number(head["audit_seq"]) === seq && head["audit_head"] !== hash) onBroken(seq);
  return seq;
}

async function verifyThread(all: All, thread: Row, onBroken: (seq: number) => void): Promise<number> {
  let hash = "";
  let seq = 0;
  for (;;) {
    const page = await all(
      `select ${rows.MESSAGE_COLUMNS}, m.body_hash, m.prev_hash, m.hash from threads.message m
       where m.workspace_id = $1 and m.thread_id = $2 and m.seq > $3 order by m.seq limit $4`,
      ...[thread["thread_id"], seq, PAGE],
    );
    for (const row of page) {
      const message = rows.messageOf(row);
      const body = row["body_hash"] as string;
      const isWhole = message.erased || body === bodyHash(message.text, message.metadata);
      const isNext = message.seq === seq + 1 && row["prev_hash"] === hash;
      if (!isNext || !isWhole || row["hash"] !== messageHash(hash, message, body)) {
        onBroken(isNext ? message.seq : seq + 1);
        return message.seq;
      }
      hash = row["hash"] as string;
      seq = message.seq;
    }
    if (page.length < PAGE) break;
  }
  if (Number(thread["last_seq"]) > seq) onBroken(seq + 1);
  if (Number(thread["last_seq"]) === seq && thread["head_hash"] !== hash) onBroken(seq);
  return seq;
}
