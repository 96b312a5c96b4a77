import type { Pool } from "pg";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";

const LOOK_MS = 1000;

/** Reports whether the database answers. It asks every second; the pool limits how long each query may take. */
export class DatabaseWatch implements Task {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger; readonly pool: Pool };
  readonly #onChange: (answers: boolean) => void;

  /** Calls `onChange` at each change. Initially the database counts as available. */
  constructor(
    deps: { readonly clock: Clock; readonly logger: Logger; readonly pool: Pool },
    onChange: (answers: boolean) => void,
  ) {
    this.#deps = deps;
    this.#onChange = onChange;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, pool } = this.#deps;
    let answers = true;
    while (!signal.aborted) {
      const failure = await pool.query("select 1").then(
        () => undefined,
        (err: unknown) => ({ err }),
      );
      if (signal.aborted) return;
      const now = failure === undefined;
      if (now !== answers) {
        answers = now;
        this.#onChange(answers);
        if (failure === undefined) logger.info("the database answers again");
        else logger.error(failure, "the database does not answer; trying again every second");
      }
      await clock.sleep(LOOK_MS, signal).catch(() => {});
    }
  }
}
