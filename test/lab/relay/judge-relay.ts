/** A result as stored in the stream of results. */
export interface SeenResult {
  readonly session: string;
  readonly id: string;
  readonly type: string;
  /** The nonce of the request or prompt that it answers; undefined: the relay's own failure. */
  readonly nonce: string | undefined;
  readonly reason: string | undefined;
  /** Counted from 1. */
  readonly part: number;
  readonly parts: number;
}

/** The recorded events of one session. */
export interface SessionTruth {
  readonly session: string;
  readonly kind: "sampling" | "acp";
  /** The ids in the order of the stream. */
  readonly published: readonly string[];
  /** The nonces of all requests or prompts that the agents received, by id. */
  readonly asked: ReadonlyMap<string, readonly string[]>;
  /** The nonces that an agent answered. */
  readonly answered: ReadonlySet<string>;
}

export interface Verdict {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  /** Results that mix parts of several answers, or whose parts are missing or out of order. */
  readonly mixed: readonly string[];
  /** A success without an agent's answer, or a prompt that an ACP agent received twice. */
  readonly untrue: readonly string[];
  readonly uncertain: number;
  readonly successes: number;
}

const SAMPLING_FAILURES: ReadonlySet<string | undefined> = new Set(["attempts"]);
const ACP_FAILURES: ReadonlySet<string | undefined> = new Set(["uncertain"]);

/** Compares the results, in the order of their stream, with the published work and the agents' actions. Pure. */
export function judgeRelay(truths: readonly SessionTruth[], results: readonly SeenResult[]): Verdict {
  const verdict = { lost: [], doubled: [], mixed: [], untrue: [], uncertain: 0, successes: 0 } as {
    -readonly [K in keyof Verdict]: Verdict[K] extends number ? number : string[];
  };
  for (const truth of truths) {
    const own = results.filter(({ session }) => session === truth.session);
    for (const id of truth.published) judgeWork(truth, id, own, verdict);
    const order = [...new Set(own.map(({ id }) => id))];
    const wanted = truth.published.filter((id) => order.includes(id));
    if (order.join() !== wanted.join())
      verdict.mixed.push(`${truth.session}: results in another order than their work`);
  }
  return verdict;
}

function judgeWork(
  { session, kind, asked, answered }: SessionTruth,
  id: string,
  results: readonly SeenResult[],
  verdict: {
    lost: string[];
    doubled: string[];
    mixed: string[];
    untrue: string[];
    uncertain: number;
    successes: number;
  },
): void {
  const name = `${session} ${id}`;
  const own = results.filter((result) => result.id === id);
  const [first] = own;
  if (first === undefined) return void verdict.lost.push(name);
  if (own.length > first.parts) return void verdict.doubled.push(name);
  const isWhole = own.length === first.parts && own.every(({ part }, index) => part === index + 1);
  const isOne = own.every(({ nonce, parts }) => nonce === first.nonce && parts === first.parts);
  const at = results.indexOf(first);
  const isTogether = own.every((result, index) => results[at + index] === result);
  if (!isWhole || !isOne || !isTogether) verdict.mixed.push(name);
  const nonces = asked.get(id) ?? [];
  if (kind === "acp" && nonces.length > 1) verdict.untrue.push(`${name}: prompted ${nonces.length} times`);
  if (first.type === "result.failure") {
    const failures = kind === "acp" ? ACP_FAILURES : SAMPLING_FAILURES;
    if (!failures.has(first.reason)) verdict.untrue.push(`${name}: ${first.reason}`);
    verdict.uncertain++;
    return;
  }
  verdict.successes++;
  if (first.nonce === undefined || !answered.has(first.nonce) || !nonces.includes(first.nonce)) {
    verdict.untrue.push(`${name}: a success that no agent gave`);
  }
}
