import type { Logger } from "../../base/logger.ts";

/**
 * Acts of an agent that attacks the serving half, by the place where they were found: a `link`, a file of another
 * `kind` or of another `owner` in the state folder; a `peer` on the link that is not the supervising half; a `stream`
 * that is not tmux's; a `capture` that tmux reported as written and that does not exist; output that is piped elsewhere
 * (`pipe`).
 */
export const VIOLATIONS = ["link", "kind", "owner", "peer", "stream", "capture", "pipe"] as const;
export type Violation = (typeof VIOLATIONS)[number];

/** Counts the violations of the boundary between the two halves, and logs the first of each kind. */
export class Boundary {
  readonly #deps: { readonly logger: Logger; readonly count: (violation: Violation) => void };
  readonly #logged = new Set<Violation>();

  constructor(deps: { readonly logger: Logger; readonly count: (violation: Violation) => void }) {
    this.#deps = deps;
  }

  note(violation: Violation): void {
    this.#deps.count(violation);
    if (this.#logged.has(violation)) return;
    this.#logged.add(violation);
    this.#deps.logger.warn(
      { kind: violation },
      "the agent tried to interfere with the serving half; further attempts are only counted",
    );
  }
}
