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
   * Set if the address is the default one: if another process uses it, the daemon runs without a health port and logs
   * this line, which says how to set another address. Default: `run` fails in that case.
   */
  readonly withoutHealth?: string | undefined;
  /** Delays the log line about the health port until this promise resolves. Default: no delay. */
  readonly toldAfter?: Promise<unknown> | undefined;
  /** More fields of that log line. */
  readonly toldWith?: object;
}

/** A server, or a port of the daemon. */
interface Listening {
  readonly listening: Promise<ListenAddress>;
}

/**
 * The frame around a daemon's own work: health and metrics, the port for both, the log line "serving" once the daemon
 * can be called, and the start of its drain.
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
 * `run` serves the health port: `/livez`, `/readyz`, `/metrics` and `grpc.health.v1` in plaintext.
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

  /** The address of the health port; rejects if the daemon cannot listen on it. */
  get listening(): Promise<ListenAddress> {
    return this.#server.listening;
  }

  /** Reports these services, and the daemon itself, as ready. */
  ready(...services: readonly string[]): void {
    for (const service of ["", ...services]) this.health.set(service, true);
  }

  /** Once `signal` is aborted, health reports nothing as ready, even if `ready` is called later. */
  drainsWith(signal: AbortSignal): void {
    signal.addEventListener("abort", () => this.health.shutDown(), { once: true });
  }

  /**
   * Logs "serving" with the address, `pid` and `fields` once `server` listens. Returns undefined if it never listens.
   */
  async served(server: Listening, fields: object = {}): Promise<ListenAddress | undefined> {
    return await this.#announced(server, "serving", { pid: process.pid, ...fields });
  }

  /** Logs `WHAT served` for another port of the daemon once it listens. */
  async alsoServed(server: Listening, what: string, fields: object = {}): Promise<void> {
    await this.#announced(server, `${what} served`, fields);
  }

  /** @throws DomainError `unavailable` if the health port is required and the daemon cannot listen on its address */
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
