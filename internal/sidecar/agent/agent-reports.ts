import type { HookEvent } from "../../agents/profile.ts";
import type { LifeEnd, LifeStart } from "../lifecycle/lifecycle-listener.ts";
import type { SidecarAgent } from "./sidecar-agent.ts";

/**
 * Passes observations of the agent on to the parts of `SidecarAgent`, in the order that these need. Makes no
 * observations itself.
 */
export class AgentReports {
  readonly #agent: SidecarAgent;

  constructor(agent: SidecarAgent) {
    this.#agent = agent;
  }

  alive(life: LifeStart): void {
    const { lifecycle, terminal, messages, recorder, stopper, journal } = this.#agent;
    terminal.begin();
    recorder.alive(life);
    if (life.fresh) {
      messages.deliveries.newLife();
      journal.keepAgent();
      terminal.monitor.signs.started();
      const { restarts } = lifecycle.life;
      if (restarts > 0) terminal.people.tell(`the agent was restarted (${restarts} so far)`);
    } else {
      terminal.monitor.signs.resumed();
    }
    stopper.alive();
  }

  dead(end: LifeEnd): void {
    const { terminal, messages, recorder, stopper } = this.#agent;
    const { exit, restartDue, crashLoop } = end;
    messages.restartDue = restartDue;
    recorder.dead(end);
    stopper.dead(exit, restartDue);
    terminal.monitor.signs.setProcess({ type: "dead", restartDue, crashLoop });
    if (!restartDue) terminal.end("the agent has ended");
    else terminal.people.tell(crashLoop ? "the agent keeps ending" : "the agent has ended and is being restarted");
  }

  /** A hook of the agent has reported. */
  heard(event: HookEvent): void {
    const { monitor, output } = this.#agent.terminal;
    if (event.agentSessionId !== undefined) this.inSession(event.agentSessionId);
    monitor.signs.heard(event);
    output.screens.notify(); // a delivery that waits for the screen handles this report as well
  }

  /** The agent's own id of its conversation is known. */
  inSession(id: string): void {
    if (this.#agent.lifecycle.inSession(id)) this.#agent.journal.keepAgent();
  }
}
