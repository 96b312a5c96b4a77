import { aborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { DomainError, errorText } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { Task } from "../base/task-group.ts";
import type { ListenAddress } from "../rpc/port/listen.ts";
import { HealthState } from "../rpc/server/health.ts";
import { createHealthServer } from "../rpc/server/health-http.ts";
import type { HostCheck } from "../rpc/server/host-check.ts";
import { Metrics } from "../rpc/server/metrics.ts";
import type { RpcServer } from "../rpc/server/server.ts";

export interface DaemonFrameOptions {
  readonly healthListen: ListenAddress;
  readonly hostCheck: HostCheck;
  /**
   * The address is the usual one: where another process has it, the daemon runs without a health port, and this log
   * line says how to set another. Default: `run` fails then.
   */
  readonly withoutHealth?: string;
  /** The log says that health is served once this is so too. Default: at once. */
  readonly toldAfter?: Promise<unknown>;
  /** More fields of that log line. */
  readonly toldWith?: object;
}

/** Whatever listens. */
interface Listening {
  readonly listening: Promise<ListenAddress>;
}

/**
 * What is around a daemon's own work: its health and metrics, the port for both, the line "serving" when it can be
 * called, and the beginning of its drain.
 *
 *     const frame = new DaemonFrame({ clock, logger }, { healthListen, hostCheck: { allowHosts: [] } });
 *     const server = new TrustedServer({ clock, logger, ...frame, audit }, options);
 *     frame.drainsWith(signal); // nothing is ready from then on
 *     void frame.served(server); // logs "serving"
 *     void work.ready.then(() => frame.ready(ThreadsService.typeName));
 *     const ended = new AbortController();
 *     await runTasks(signal, [
 *       { run: (stop) => work.run(stop).finally(() => ended.abort()) },
 *       { run: () => runTasks(ended.signal, [server, frame]) }, // calls see the work to its end
 *     ]);
 *
 * `run` is the health port: `/livez`, `/readyz`, `/metrics` and `grpc.health.v1` in plaintext.
 */
export class DaemonFrame implements Task {
  readonly health = new HealthState();
  readonly metrics = new Metrics();
  readonly #logger: Logger;
  readonly #options: DaemonFrameOptions;
  readonly #server: RpcServer;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }, options: DaemonFrameOptions) {
    const { healthListen, hostCheck } = options;
    this.#logger = logger;
    this.#options = options;
    this.metrics.collectProcess();
    const deps = { clock, logger, health: this.health, metrics: this.metrics };
    this.#server = createHealthServer(deps, { ...healthListen, hostCheck });
  }

  /** Where the health port listens; rejects when it never will. */
  get listening(): Promise<ListenAddress> {
    return this.#server.listening;
  }

  /** Health says that these services can be called, and that the daemon is ready. */
  ready(...services: readonly string[]): void {
    for (const service of ["", ...services]) this.health.set(service, true);
  }

  /** From the signal on nothing is ready, whatever is said later. */
  drainsWith(signal: AbortSignal): void {
    signal.addEventListener("abort", () => this.health.shutDown(), { once: true });
  }

  /** Logs that `server` serves, once it listens, with its address, `pid` and `fields`; undefined: it never will. */
  async served(server: Listening, fields: object = {}): Promise<ListenAddress | undefined> {
    return await this.#announced(server, "serving", { pid: process.pid, ...fields });
  }

  /** The same for another port of the daemon, with what it serves. */
  async alsoServed(server: Listening, what: string, fields: object = {}): Promise<void> {
    await this.#announced(server, `${what} served`, fields);
  }

  /** @throws DomainError `unavailable` when the health port is needed and cannot be listened on */
  async run(signal: AbortSignal): Promise<void> {
    const { withoutHealth, toldAfter, toldWith } = this.#options;
    const listening = Promise.all([this.#server.listening, toldAfter]).then(([address]) => address);
    void this.alsoServed({ listening }, "health", toldWith);
    try {
      await this.#server.run(signal);
    } catch (err) {
      if (withoutHealth === undefined || !(err instanceof DomainError)) throw err;
      this.#logger.warn({ err: errorText(err) }, withoutHealth);
      await aborted(signal);
    }
  }

  async #announced(server: Listening, message: string, fields: object): Promise<ListenAddress | undefined> {
    try {
      const address = await server.listening;
      this.#logger.info({ listen: `${address.host}:${address.port}`, ...fields }, message);
      return address;
    } catch {
      return undefined; // its `run` throws the same
    }
  }
}
