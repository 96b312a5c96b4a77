import { createServer, type Socket } from "node:net";
import { aborted } from "../../base/abort.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { removeTree } from "../../files/remove-tree.ts";
import type { ProcessFacts, WantedFacts } from "../../process/process-facts.ts";
import type { Greeting } from "./greeting.ts";
import { onLines, writeLine } from "./halves-link-lines.ts";
import {
  type ControlAnswer,
  type ControlMessage,
  type ControlQuestion,
  parseControlMessage,
  type SessionFate,
} from "./halves-link-messages.ts";

export interface HalvesLinkListenerDeps {
  readonly logger: Logger;
  readonly greeting: Greeting;
  /** Receives reports; questions are answered here. */
  readonly onMessage: (message: Exclude<ControlMessage, ControlQuestion>) => void;
  /** Facts about a process as this process sees it. */
  readonly inspect: (pid: number, wanted: WantedFacts) => ProcessFacts;
  /** Determines the fate of the session of the agent with this pid; must not reject. */
  readonly settle: (pid: number) => Promise<SessionFate | undefined>;
  /** How many processes of this process's control group the kernel has killed for lack of memory. */
  readonly oomKills: () => number | undefined;
}

/** There is one serving half, and at times another that takes over. A further connection replaces the oldest. */
const MAX_CONNECTIONS = 8;

/** The supervising half's listener: a unix socket in the state folder. */
export class HalvesLinkListener implements Task {
  readonly #path: string;
  readonly #deps: HalvesLinkListenerDeps;

  constructor(deps: HalvesLinkListenerDeps, path: string) {
    this.#deps = deps;
    this.#path = path;
  }

  async run(signal: AbortSignal): Promise<void> {
    removeTree(this.#path);
    const { greeting } = this.#deps;
    const sockets = new Set<Socket>();
    const drop = (socket: Socket) => {
      sockets.delete(socket);
      socket.destroy();
    };
    const server = createServer((socket) => {
      for (const oldest of sockets) if (sockets.size >= MAX_CONNECTIONS) drop(oldest);
      sockets.add(socket);
      writeLine(socket, greeting.hello);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => {});
      onLines(socket, (line) => this.#take(line, socket));
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.on("error", reject);
    server.listen(this.#path, resolve);
    await promise;
    const stopGreeting = greeting.changes.listen(() => {
      for (const socket of sockets) writeLine(socket, greeting.hello);
    });
    await aborted(signal);
    stopGreeting();
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  }

  #take(line: string, socket: Socket): void {
    const message = parseControlMessage(line);
    if (message === undefined) this.#deps.logger.warn("a line on the control socket could not be parsed");
    else if (!("id" in message)) this.#deps.onMessage(message);
    else void this.#answer(message).then((answer) => writeLine(socket, answer));
  }

  async #answer(message: ControlQuestion): Promise<ControlAnswer> {
    const { id } = message;
    if (message.type === "process") return { id, ...this.#deps.inspect(message.pid, message) };
    if (message.type === "oom-kills") {
      const oomKills = this.#deps.oomKills();
      return { id, oomKills };
    }
    const session = await this.#deps.settle(message.pid);
    return { id, session };
  }
}
