import type { Verdict } from "./judge.ts";

/**
 * The grace period after the last of several resizes: the program repaints, and must then be still for 1.5 s before its
 * screen counts as idle.
 */
const GRACE_MS = 3000;
/** A window that is resized again and again does not hold a state longer than this. */
const GRACE_MAX_MS = 10_000;

/** `isHeld`: the state is the one from before a resize. */
export type HeldVerdict = Verdict & { readonly isHeld: boolean };

interface Held {
  readonly verdict: Verdict;
  /** When it was judged; monotonic ms, like the other times. */
  readonly judgedAt: number;
  readonly maxUntil: number;
  readonly until: number;
}

/**
 * Holds the state from before a resize. A resize makes the screen useless as evidence until the program has repainted:
 * its composer is cut or gone, and every row moves. None of that shows that the agent's activity has changed.
 */
export class ResizeGrace {
  #held: Held | undefined;

  /** The window is being resized; `last` is the verdict as of `judgedAt`. An unproven state is not held. */
  begin(last: HeldVerdict, judgedAt: number, now: number): void {
    const before = this.#held;
    if (before !== undefined && now < before.until) {
      this.#held = { ...before, until: Math.min(now + GRACE_MS, before.maxUntil) };
      return;
    }
    const until = now + GRACE_MS;
    this.#held =
      isProven(last) && !last.isHeld ? { verdict: last, judgedAt, until, maxUntil: now + GRACE_MAX_MS } : undefined;
  }

  /** Call this when evidence other than the screen has arrived: the held state is then outdated. */
  end(): void {
    this.#held = undefined;
  }

  /** Returns `verdict` or, if no evidence supports it, the state from before the resize. */
  apply(verdict: Verdict, now: number): HeldVerdict {
    const held = this.#held;
    if (held !== undefined && now >= held.until) this.#held = undefined;
    else if (held !== undefined && !isProven(verdict)) return holding(held, verdict, now);
    else if (held !== undefined && verdict.state !== held.verdict.state) this.#held = undefined;
    return { ...verdict, isHeld: false };
  }
}

/** False for the two states for which no source has evidence. */
function isProven({ state }: Verdict): boolean {
  return state !== "uncertain" && state !== "starting";
}

function holding({ verdict: before, judgedAt, until }: Held, verdict: Verdict, now: number): HeldVerdict {
  const passed = Math.max(0, Math.round(now - judgedAt));
  const evidence = before.evidence.map((item) => ({ ...item, ageMs: item.ageMs + passed }));
  const { stallsAt } = before;
  return {
    state: before.state,
    evidence: [...evidence, ...verdict.evidence],
    reconsiderAt: Math.min(until, verdict.reconsiderAt ?? until),
    stallsAt,
    isHeld: true,
  };
}
