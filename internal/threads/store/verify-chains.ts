import { auditHash, bodyHash, messageHash } from "../domain/hashes.ts";
import type { ChainReport } from "../domain/store.ts";
import * as rows from "./rows.ts";

type Row = Readonly<Record<string, unknown>>;
type All = (text: string, ...values: readonly unknown[]) => Promise<readonly Row[]>;

const PAGE = 500;
const MAX_BROKEN = 100;

/** The fields of a row that its chain depends on. */
interface Link {
  readonly seq: number;
  readonly prevHash: string;
  readonly hash: string;
  /** Computes the row's hash from its fields and the hash of the row before it. */
  readonly computed: (prevHash: string) => string;
}

/** The last row of a chain when its verification begins. Rows that are added meanwhile come after it. */
interface Head {
  readonly seq: number;
  readonly hash: string;
}

/**
 * Verifies the chains of one workspace: that no row was changed, removed or added. `all` binds the workspace to `$1`.
 */
export async function verifyChains(all: All): Promise<ChainReport> {
  const broken: { threadId?: string; seq: number }[] = [];
  const [workspace] = await all("select audit_seq, audit_head from threads.workspace where workspace_id = $1");
  const head = { seq: Number(workspace?.["audit_seq"] ?? 0), hash: (workspace?.["audit_head"] ?? "") as string };
  const audit = await verifyChain(head, (seq) => auditPage(all, seq));
  if (audit.broken !== undefined) broken.push({ seq: audit.broken });
  let checked = audit.checked;
  const threads = await all("select thread_id, last_seq, head_hash from threads.thread where workspace_id = $1");
  for (const thread of threads) {
    if (broken.length >= MAX_BROKEN) break;
    const threadId = thread["thread_id"] as string;
    const at = { seq: Number(thread["last_seq"]), hash: thread["head_hash"] as string };
    const found = await verifyChain(at, (seq) => messagePage(all, threadId, seq));
    if (found.broken !== undefined) broken.push({ threadId, seq: found.broken });
    checked += found.checked;
  }
  return { checked, broken };
}

/** Verifies one chain up to its first broken row. */
async function verifyChain(
  head: Head,
  page: (afterSeq: number) => Promise<readonly Link[]>,
): Promise<{ readonly checked: number; readonly broken?: number }> {
  let hash = "";
  let seq = 0;
  for (;;) {
    const links = await page(seq);
    for (const link of links) {
      if (link.seq !== seq + 1 || link.prevHash !== hash) return { checked: seq, broken: seq + 1 };
      if (link.hash !== link.computed(hash)) return { checked: seq, broken: link.seq };
      if (link.seq === head.seq && link.hash !== head.hash) return { checked: seq, broken: link.seq };
      hash = link.hash;
      seq = link.seq;
    }
    if (links.length < PAGE) return seq < head.seq ? { checked: seq, broken: seq + 1 } : { checked: seq };
  }
}

async function auditPage(all: All, afterSeq: number): Promise<readonly Link[]> {
  const page = await all(
    "select * from threads.audit where workspace_id = $1 and seq > $2 order by seq limit $3",
    ...[afterSeq, PAGE],
  );
  return page.map((row) => {
    const entry = rows.auditOf(row);
    return { ...hashesOf(row), seq: entry.seq, computed: (prev) => auditHash(prev, entry) };
  });
}

async function messagePage(all: All, threadId: string, afterSeq: number): Promise<readonly Link[]> {
  const page = await all(
    `select ${rows.MESSAGE_COLUMNS}, m.body_hash, m.prev_hash, m.hash from threads.message m
     where m.workspace_id = $1 and m.thread_id = $2 and m.seq > $3 order by m.seq limit $4`,
    ...[threadId, afterSeq, PAGE],
  );
  return page.map((row) => {
    const message = rows.messageOf(row);
    const body = row["body_hash"] as string;
    // An erased message still proves its place in the chain, but no longer its text.
    const isWhole = message.erased || body === bodyHash(message.text, message.metadata);
    return {
      ...{ ...hashesOf(row), seq: message.seq },
      computed: (prev) => (isWhole ? messageHash(prev, message, body) : ""),
    };
  });
}

function hashesOf(row: Row): { readonly prevHash: string; readonly hash: string } {
  return { prevHash: row["prev_hash"] as string, hash: row["hash"] as string };
}
