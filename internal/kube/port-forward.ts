import { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { DomainError } from "../base/errors.ts";
import type { KubeCredentials } from "./access/credentials.ts";
import { openWebSocket } from "./open-web-socket.ts";

export interface ForwardedPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** One connection per socket; the server names the port first. API servers support it, at least up to version 1.35. */
const PROTOCOL = "v4.channel.k8s.io";
const DATA = 0;
const ERROR = 1;
/** Kubelet errors are cut to this many bytes. */
const MAX_COMPLAINT = 512;

/**
 * A stream to a port of a pod, through the API server. Writes wait until the connection is established. Fails with the
 * errors of `openWebSocket`, and with DomainError `unavailable` for those that the node reports, e.g. that nothing
 * listens on the port.
 */
export class PortForward extends Duplex {
  readonly #credentials: KubeCredentials;
  readonly #target: ForwardedPort;
  readonly #end = new AbortController();
  /** Channels whose first message, the port number, has arrived. */
  readonly #named = new Set<number>();
  #socket: WebSocket | undefined;

  constructor(credentials: KubeCredentials, target: ForwardedPort) {
    super({ allowHalfOpen: false });
    this.#credentials = credentials;
    this.#target = target;
  }

  override _construct(done: (err?: Error | null) => void): void {
    this.#open().then(() => done(), done);
  }

  override _write(chunk: Buffer, _encoding: string, done: (err?: Error | null) => void): void {
    this.#socket?.send(Buffer.concat([Buffer.of(DATA), chunk]), (err) => done(err));
  }

  /** Closes both directions, because the protocol cannot close only one. */
  override _final(done: (err?: Error | null) => void): void {
    this.#socket?.close();
    done();
  }

  override _read(): void {
    this.#socket?.resume();
  }

  override _destroy(err: Error | null, done: (err?: Error | null) => void): void {
    this.#end.abort(err ?? new DomainError("cancelled", "the port-forward was closed"));
    this.#socket?.terminate();
    done(err);
  }

  async #open(): Promise<void> {
    const { namespace, pod, port } = this.#target;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward`;
    const access = await this.#credentials.access();
    const socket = await openWebSocket(access, `${path}?ports=${port}`, PROTOCOL, this.#end.signal);
    this.#socket = socket;
    socket.on("message", (message: Buffer) => this.#take(message));
    socket.once("error", (cause) => this.destroy(this.#broken(cause)));
    socket.once("close", () => this.#ended());
    socket.resume();
  }

  #take(message: Buffer): void {
    const [channel] = message;
    const content = message.subarray(1);
    if (channel === undefined || content.length === 0) return;
    if (!this.#named.has(channel)) this.#named.add(channel);
    else if (channel === ERROR) this.destroy(this.#complaint(content));
    else if (channel === DATA && !this.destroyed && !this.push(content)) this.#socket?.pause();
  }

  #ended(): void {
    if (!this.destroyed && !this.readableEnded) this.push(null);
  }

  #broken(cause: Error): DomainError {
    return new DomainError("unavailable", `the port-forward to ${this.#name()} broke`, { cause });
  }

  #complaint(text: Buffer): DomainError {
    const said = text.subarray(0, MAX_COMPLAINT).toString("utf8");
    const isNobody = /connection refused/i.test(said);
    const what = isNobody
      ? `nothing listens on port ${this.#target.port} of ${this.#name()}`
      : `${this.#name()}: ${said}`;
    return new DomainError("unavailable", what);
  }

  #name(): string {
    return `pod ${this.#target.namespace}/${this.#target.pod}`;
  }
}
