import { DomainError } from "../../base/errors.ts";

/** The agent is gone: its connection ended, or its process. */
export class AgentLost extends DomainError {
  constructor(reason: string) {
    super("unavailable", `the agent is gone: ${reason}`);
  }
}
