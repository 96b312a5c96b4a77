import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, ConnectError } from "@connectrpc/connect";
import xterm from "@xterm/headless";
import { SignalBus } from "../../../internal/base/signal-bus.ts";
import { SidecarAttachInputSchema, type SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { until } from "./sidecar.ts";

type Input = MessageInitShape<typeof SidecarAttachInputSchema>["input"];

/** One Attach call, as a program makes it; an emulator of its own draws the received data. */
export interface AttachCall extends AsyncDisposable {
  /** Everything but data, in order: `resized 80x24`, `notice …`, `end … 0`. */
  readonly told: readonly string[];
  /** The bytes received so far. */
  bytes(): number;
  text(): string;
  type(text: string): void;
  resize(cols: number, rows: number): void;
  /** Ends the input. */
  close(): void;
  sees(text: string, ms?: number): Promise<void>;
  hears(text: string, ms?: number): Promise<void>;
  /** Settles with the call's end: `undefined`, or the error. */
  readonly ended: Promise<ConnectError | undefined>;
}

export interface AttachCallOptions {
  readonly cols?: number;
  readonly rows?: number;
  readonly readOnly?: boolean;
  readonly name?: string;
  /** Reading starts when this resolves. */
  readonly readAfter?: Promise<void>;
  /** Sent instead of the hello. */
  readonly first?: Input | "nothing";
}

export function openAttach(client: Client<typeof SidecarService>, options: AttachCallOptions = {}): AttachCall {
  const { cols = 100, rows = 30, readOnly = false, name = "ann" } = options;
  const hello: Input = { case: "hello", value: { cols, rows, readOnly, name } };
  const stop = new AbortController();
  const waiting: Input[] = options.first === "nothing" ? [] : [options.first ?? hello];
  const changed = new SignalBus();
  let isClosed = false;
  const inputs = async function* () {
    while (!stop.signal.aborted) {
      const input = waiting.shift();
      if (input !== undefined) yield create(SidecarAttachInputSchema, { input });
      else if (isClosed) return;
      else await changed.next(stop.signal).catch(() => {});
    }
  };
  const send = (input: Input) => {
    waiting.push(input);
    changed.notify();
  };
  const told: string[] = [];
  const terminal = new xterm.Terminal({ cols, rows, allowProposedApi: true, logLevel: "off" });
  let bytes = 0;
  const reading = async () => {
    const outputs = client.attach(inputs(), { signal: stop.signal, timeoutMs: 0 });
    await options.readAfter;
    for await (const { output } of outputs) {
      if (output.case === "data") {
        bytes += output.value.length;
        await new Promise<void>((resolve) => terminal.write(output.value, resolve));
      } else if (output.case === "resized") {
        terminal.resize(output.value.cols, output.value.rows);
        told.push(`resized ${output.value.cols}x${output.value.rows}`);
      } else if (output.case === "notice") told.push(`notice ${output.value}`);
      else if (output.case === "end") told.push(`end ${output.value.reason} ${output.value.exitCode}`);
    }
  };
  const ended = reading().then(
    () => undefined,
    (err: unknown) => ConnectError.from(err),
  );
  const text = () => {
    const { active } = terminal.buffer;
    return Array.from({ length: terminal.rows }, (_, y) =>
      active.getLine(active.baseY + y)?.translateToString(true),
    ).join("\n");
  };
  return {
    told,
    bytes: () => bytes,
    text,
    type: (keys) => send({ case: "data", value: Buffer.from(keys) }),
    resize: (width, height) => send({ case: "resize", value: { cols: width, rows: height } }),
    close: () => {
      isClosed = true;
      changed.notify();
    },
    sees: async (what, ms = 60_000) =>
      void (await until(`${what} on the screen`, ms, () => text().includes(what) || undefined, text)),
    hears: async (what, ms = 60_000) =>
      void (await until(
        `${what}`,
        ms,
        () => told.some((one) => one.includes(what)) || undefined,
        () => told.join("\n"),
      )),
    ended,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await ended;
    },
  };
}
