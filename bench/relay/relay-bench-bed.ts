import { freePort } from "../../test/support/bridge/free-port.ts";
import { NatsServer } from "../../test/support/relay/nats-server.ts";
import { Coordinator } from "../../test/support/relay/relay-bed.ts";
import { RelayProcess } from "../../test/support/relay/relay-process.ts";
import { SeedAgent, textResult } from "../../test/support/relay/seed-agent.ts";
import { until } from "../../test/support/sidecar/sidecar.ts";
import { liveHeapMiB } from "../live-heap.ts";
import { anonymousMiB, cpuMs } from "../proc.ts";

export const ANSWER = "done: the login form checks the token, and the tests pass";
const PATIENCE_MS = 120_000;

/** A relay on a NATS of its own, and a coordinator that sees each result as it is stored. */
export class RelayBenchBed implements AsyncDisposable {
  readonly coordinator: Coordinator;
  readonly #relay: RelayProcess;
  readonly #other: RelayProcess | undefined;
  readonly #stack: AsyncDisposableStack;
  readonly #inspector: number;
  readonly #waiting = new Map<string, () => void>();

  private constructor(
    coordinator: Coordinator,
    [relay, other]: readonly [RelayProcess, RelayProcess | undefined],
    inspector: number,
    stack: AsyncDisposableStack,
  ) {
    this.coordinator = coordinator;
    this.#relay = relay;
    this.#other = other;
    this.#inspector = inspector;
    this.#stack = stack;
    coordinator.nc.subscribe("sessions.*.results.*", {
      callback: (_err, message) => {
        const id = String(message.json<{ readonly id?: string }>().id);
        this.#waiting.get(id)?.();
        this.#waiting.delete(id);
      },
    });
  }

  /**
   * @param isInspected the relay's memory can be queried, which costs processor time
   * @param hasOther a second relay serves too
   */
  static async create(nats: string, { isInspected = false, hasOther = false } = {}): Promise<RelayBenchBed> {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await NatsServer.start(nats));
    const inspector = await freePort();
    const env = isInspected ? { NODE_OPTIONS: `--inspect=127.0.0.1:${inspector}` } : {};
    const args = ["--pong-timeout", "300"];
    const relay = stack.use(await RelayProcess.start(server.url, { env, args }));
    const other = hasOther ? stack.use(await RelayProcess.start(server.url, { args })) : undefined;
    const coordinator = stack.use(await Coordinator.connect(server));
    return new RelayBenchBed(coordinator, [relay, other], inspector, stack.move());
  }

  /** An agent that answers at once. */
  async agent(session: string): Promise<SeedAgent> {
    const agent = await SeedAgent.dial(await this.#relay.url(), { session });
    agent.answer = ({ method }) => (method === "sampling/createMessage" ? textResult(ANSWER) : undefined);
    return agent;
  }

  /** The URLs of the relay and of the second relay. */
  async urls(): Promise<readonly [string, string]> {
    const url = await this.#relay.url();
    return [url, (await this.#other?.url()) ?? url];
  }

  /** Gives work to a lane; returns when its result has been stored. */
  async turn(session: string, id: string): Promise<void> {
    const result = Promise.withResolvers<void>();
    this.#waiting.set(id, result.resolve);
    await this.coordinator.work(session, work(id));
    await result.promise;
  }

  get cpuMs(): number {
    return cpuMs(this.#pid);
  }

  /** The relay's anonymous memory after a full collection. */
  async memoryMiB(): Promise<number> {
    await liveHeapMiB(this.#inspector);
    return anonymousMiB(this.#pid);
  }

  /** The relay's live memory: heap and buffers. */
  liveMiB(): Promise<number> {
    return liveHeapMiB(this.#inspector);
  }

  async untilLanesHeld(count: number): Promise<void> {
    await until(`${count} lanes to be held`, PATIENCE_MS, async () => {
      const text = await (await this.#relay.health("/metrics")).text();
      return new RegExp(`^gastown_relay_lanes_held ${count}$`, "m").test(text) || undefined;
    });
  }

  async consumers(): Promise<number> {
    const { streams } = await this.coordinator.js.jetstreamManager();
    return (await streams.info("RELAY_WORK")).state.consumer_count;
  }

  get #pid(): number {
    return this.#relay.child.pid as number;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** A piece of work like the example in `docs/protocols/relay.md`. */
export function work(id: string): object {
  return { id, type: "work.coding", payload: { task: "Implement authentication", requirements: ["use JWT"] } };
}
