import { Duplex } from "node:stream";
import { DomainError } from "../base/errors.ts";
import type { Credentials } from "./access/credentials.ts";
import { type OpenedSocket, openWebSocket } from "./open-web-socket.ts";
import { clientFrame, FrameReader, OPCODES, type ServerFrame } from "./web-socket-frames.ts";

export interface ForwardedPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/**
 * One connection a socket, the port named before the first byte. API servers of 1.35 still know it, and so do older
 * ones.
 */
const PROTOCOL = "v4.channel.k8s.io";
const DATA = 0;
const ERROR = 1;
/** How much of a kubelet's complaint is kept. */
const MAX_COMPLAINT = 512;

/**
 * A connection to a port of a pod through the API server, as a stream. What is written before it stands is held back.
 * Fails with what `openWebSocket` throws, and with DomainError `unavailable` for what the node reports, e.g. that
 * nothing listens there.
 */
export class PortForward extends Duplex {
  readonly #credentials: Credentials;
  readonly #target: ForwardedPort;
  readonly #end = new AbortController();
  readonly #frames = new FrameReader();
  /** Channels that have named their port. */
  readonly #named = new Set<number>();
  #socket: OpenedSocket["stream"] | undefined;
  #channel: number | undefined;

  constructor(credentials: Credentials, target: ForwardedPort) {
    super({ allowHalfOpen: false });
    this.#credentials = credentials;
    this.#target = target;
  }

  override _construct(done: (err?: Error | null) => void): void {
    this.#open().then(() => done(), done);
  }

  override _write(chunk: Buffer, _encoding: string, done: (err?: Error | null) => void): void {
    const message = Buffer.concat([Buffer.of(DATA), chunk]);
    this.#socket?.write(clientFrame(OPCODES.binary, message), done);
  }

  /** The protocol cannot close one direction: the other end goes with it. */
  override _final(done: (err?: Error | null) => void): void {
    this.#socket?.write(clientFrame(OPCODES.close, Buffer.alloc(0)), () => done());
  }

  override _read(): void {
    this.#socket?.resume();
  }

  override _destroy(err: Error | null, done: (err?: Error | null) => void): void {
    this.#end.abort(err ?? new DomainError("cancelled", "the port-forward was closed"));
    this.#socket?.destroy();
    done(err);
  }

  async #open(): Promise<void> {
    const { namespace, pod, port } = this.#target;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward`;
    const access = await this.#credentials.access();
    const { stream, head } = await openWebSocket(access, `${path}?ports=${port}`, PROTOCOL, this.#end.signal);
    this.#socket = stream;
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
    stream.once("error", (cause) => this.destroy(this.#broken(cause)));
    stream.once("close", () => this.#ended());
    if (head.length > 0) this.#take(head);
  }

  #take(chunk: Buffer): void {
    try {
      for (const frame of this.#frames.push(chunk)) this.#serve(frame);
    } catch (err) {
      this.destroy(err as Error);
    }
  }

  #serve({ opcode, payload }: ServerFrame): void {
    if (opcode === OPCODES.ping) this.#socket?.write(clientFrame(OPCODES.pong, payload));
    if (opcode === OPCODES.close) this.#ended();
    if (opcode !== OPCODES.binary && opcode !== OPCODES.continuation) return;
    const begins = opcode === OPCODES.binary;
    if (begins) this.#channel = payload[0];
    const content = begins ? payload.subarray(1) : payload;
    if (this.#channel === undefined || content.length === 0) return;
    if (begins && !this.#named.has(this.#channel)) this.#named.add(this.#channel);
    else if (this.#channel === ERROR) this.destroy(this.#complaint(content));
    else if (this.#channel === DATA && !this.destroyed && !this.push(content)) this.#socket?.pause();
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
