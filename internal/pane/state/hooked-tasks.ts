import type { HookEvent, ReportedTask, ScreenView } from "../../agents/profile.ts";
import type { BackgroundTask } from "../../session/types.ts";
import { backgroundTasks } from "./background.ts";
import { FILE_LAG_MS, type JudgeSignals } from "./judge.ts";

/** The agent's background tasks as its hooks named them, and the list that results from these and the other sources. */
export class HookedTasks {
  #told: { readonly tasks: readonly ReportedTask[]; readonly at: number } | undefined;

  /** `at`: monotonic ms. */
  hear(event: HookEvent, at: number): void {
    if (event.type === "turn-ended" && event.background !== undefined) this.#told = { tasks: event.background, at };
    if (event.type !== "prompt-submitted" || event.endedTasks === undefined || this.#told === undefined) return;
    const ended = new Set(event.endedTasks);
    this.#told = { tasks: this.#told.tasks.filter(({ id }) => !ended.has(id)), at: this.#told.at };
  }

  /** Call it when the agent has been started again: its tasks ended with its earlier life. */
  clear(): void {
    this.#told = undefined;
  }

  /** The tasks that run now. `before`: the list so far; `now`: monotonic, `wall`: wall clock, ms. */
  list(
    view: ScreenView,
    file: JudgeSignals["file"],
    before: readonly BackgroundTask[],
    { now, wall }: { readonly now: number; readonly wall: number },
  ): readonly BackgroundTask[] {
    // A screen without a composer shows no tasks: that does not invalidate the earlier ones.
    const counts = view.background ?? [];
    const told = this.#told;
    const tasks = told?.tasks ?? (counts.length > 0 || view.composer !== undefined ? [] : before);
    const isNewer = file !== undefined && (told === undefined || file.at >= told.at || now - told.at > FILE_LAG_MS);
    return backgroundTasks({ told: tasks, counts, file: isNewer ? file.state : undefined }, before, wall);
  }
}
