import { type ExactJson, isObject, member } from "./json-text.ts";

/** True if the result of `initialize` has `_meta.steering.supported`. */
export function canBeSteered(initialized: ExactJson): boolean {
  const meta = isObject(initialized) ? member(initialized, "_meta") : undefined;
  const steering = isObject(meta) ? member(meta, "steering") : undefined;
  return isObject(steering) && member(steering, "supported") === true;
}

/** The parameters of `_session/steering`. The agent begins no turn if none is open. */
export function steering(sessionId: string, prompt: readonly ExactJson[]): object {
  return { sessionId, prompt, _meta: { steering: { idleBehavior: "promptRequired" } } };
}

export function steerOutcome(response: ExactJson): "steered" | "idle" | "failed" {
  const outcome = isObject(response) ? member(response, "outcome") : undefined;
  if (outcome === "injected") return "steered";
  return outcome === "promptRequired" ? "idle" : "failed";
}
