import { DomainError } from "../../base/errors.ts";

/** The agent's connection, or its process, has ended. */
export class AgentLost extends DomainError {
  constructor(reason: string) {
    super("unavailable", `the agent is gone: ${reason}`);
  }
}

/** The agent did not get the prompt, and will not get it in this attempt, so another attempt is safe. */
export class NotTaken extends DomainError {
  constructor(reason: string) {
    super("precondition", `the agent did not take the prompt: ${reason}`);
  }
}
