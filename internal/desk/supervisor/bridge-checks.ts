import { DomainError } from "../../base/errors.ts";
import { type Step, spendPass } from "../engine/engine.ts";
import { checkDeskText } from "../tools/text-bounds.ts";
import type { GlobalState } from "./global-state.ts";

/** The part of a turn that the bridge sees. */
export interface BridgeCheckInput {
  readonly admin_input: GlobalState["admin_input"];
  readonly intent: GlobalState["intent"];
  readonly step: Step;
  /** The largest text, bytes. */
  readonly maxBytes: number;
}

/** The bridge refuses a text. Nothing has left this half. */
export class BridgeRefusal extends DomainError {
  constructor(check: string, cause?: unknown) {
    super("denied", `the bridge refuses: ${check}`, { fields: { reason: "refused", check }, cause });
  }
}

/** Only the engine makes the pass, on the edge from the supervisor, for one use in this turn. */
function comesFromSupervisor({ step }: BridgeCheckInput): boolean {
  return spendPass(step.pass, step.turn, "bridge");
}

function isRoutedToCustomer({ intent }: BridgeCheckInput): boolean {
  return intent?.route === "customer";
}

function isWithinBounds({ admin_input, maxBytes }: BridgeCheckInput): boolean {
  try {
    checkDeskText(admin_input, maxBytes);
    return true;
  } catch {
    return false;
  }
}

/** Applied in this order; the first failure decides. */
const CHECKS: readonly (readonly [name: string, holds: (call: BridgeCheckInput) => boolean])[] = [
  ["origin", comesFromSupervisor],
  ["route", isRoutedToCustomer],
  ["text", isWithinBounds],
];

/** @throws BridgeRefusal naming the first check that fails */
export function checkCrossing(call: BridgeCheckInput): void {
  for (const [name, holds] of CHECKS) if (!holds(call)) throw new BridgeRefusal(name);
}
