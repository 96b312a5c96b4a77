import { foldedLine } from "../../base/sanitise.ts";
import type { RuntimeStatus } from "./runtimes.ts";

/** Why a queued wake is not typed yet. */
export interface Blocked {
  readonly by: "busy" | "dialog" | "draft" | "person" | "parked" | "unreachable";
  /** The dialog's: one plain line, at most 120 characters. */
  readonly title?: string;
}

/** A dialog that has stood for so long is for people. */
export const DIALOG_MS = 60_000;
const TITLE = 120;

/** `status`: undefined where the runtime does not answer. */
export function blockedBy(status: RuntimeStatus | undefined): Blocked {
  if (status === undefined) return { by: "unreachable" };
  const { state, draft, dialogTitle = "" } = status;
  if (state === "dialog") return { by: "dialog", title: [...foldedLine(dialogTitle)].slice(0, TITLE).join("") };
  if (state === "parked" || state === "busy") return { by: state };
  if (draft) return { by: "draft" };
  return { by: state === "idle" ? "person" : "busy" };
}

/** A draft is a person's, too: one cause goes on where the other ends. */
export function causeOf(by: string): string {
  return by === "draft" ? "person" : by;
}

/** A person is there for `quietMs` after the last key, and for as long as a draft stands. `now`: wall clock, ms. */
export function isAtTheKeys(
  { draft, personInputAt }: Pick<RuntimeStatus, "draft" | "personInputAt">,
  quietMs: number,
  now: number,
): boolean {
  return draft || (personInputAt !== undefined && now - personInputAt < quietMs);
}

/**
 * A wake that a person has been in the way of for so long is taken back from the sidecar, and typed when the keys have
 * been quiet.
 */
export function mustDefer(by: string, forMs: number, maxDeferMs: number): boolean {
  return causeOf(by) === "person" && forMs >= maxDeferMs;
}
