// Serves WatchOutput of a stream that it feeds itself, in both ways: updates made for each watcher separately, and made
// once for all. Prints its two ports; a line `push N` on stdin adds N pieces of 1 KiB to the stream, any other line
// collects garbage.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { HandlerContext } from "@connectrpc/connect";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { runTasks } from "../../internal/base/task-group.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import {
  SidecarOutputUpdateSchema,
  SidecarService,
  type SidecarWatchRequest,
} from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { OutputStream } from "../../internal/pane/screen/output.ts";
import { Peeker } from "../../internal/pane/screen/peek.ts";
import { WatchHub } from "../../internal/pane/watch/watch-hub.ts";
import { FrameSink } from "../../internal/rpc/server/frame-sink.ts";
import { Frame } from "../../internal/rpc/server/frames.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import { RpcServer } from "../../internal/rpc/server/server.ts";
import { outputUpdate, watchRequestOf } from "../../internal/wire/watch.ts";
import { markLine } from "../marks.ts";
import { naiveWatch } from "./naive-watch.ts";

const PIECE_BYTES = 1024;
const PIECE_EVERY_MS = 50;
const clock = systemClock;

await runMain({ name: "watch-server" }, async ({ argv, stdout, signal }) => {
  const [tlsDir = ""] = argv;
  const read = (name: string) => readFileSync(join(tlsDir, name), "utf8");
  const tls = { cert: read("tls.crt"), key: read("tls.key"), ca: read("ca.crt") };
  const deps = { clock, logger: createLogger("watch-server", "error") };
  const output = new OutputStream(
    { clock },
    { cols: 160, rows: 50, rawBytes: 8 << 20, epoch: "bench", startOffset: 0n },
  );
  await output.resumeFrom({ text: "", cols: 160, rows: 50, hasHistory: true });
  const common = { host: "127.0.0.1", port: 0, routes: routesFor(output), graceMs: 100 };
  const plain = new RpcServer({ ...deps, metrics: new Metrics() }, common);
  const secure = new RpcServer({ ...deps, metrics: new Metrics() }, { ...common, tls });
  const running = runTasks(signal, [plain, secure]);
  const [a, b] = await Promise.all([plain.listening, secure.listening]);
  stdout.write(`${a.port} ${b.port}\n`);
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const [order, count] = line.split(" ");
    if (order === "push") await push(output, Number(count));
    else globalThis.gc?.();
    stdout.write("done\n");
  });
  await running;
  return 0;
});

async function push(output: OutputStream, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await sleep(PIECE_EVERY_MS);
    const mark = markLine("tick", Number(process.hrtime.bigint()) / 1e6);
    output.take(Buffer.from(`${"x".repeat(PIECE_BYTES - mark.length - 1)}\n${mark}`));
  }
}

function routesFor(output: OutputStream) {
  const alive = () => true;
  const ended = () => undefined;
  const deps = {
    clock,
    output,
    peeker: new Peeker({
      clock,
      output,
      pane: () => undefined,
      paneForPeek: () => () => Promise.resolve(undefined),
      alive,
    }),
    alive,
    ended,
  };
  const hub = new WatchHub(deps, (update) => new Frame(SidecarOutputUpdateSchema, outputUpdate(update)));
  return (router: Parameters<ConstructorParameters<typeof RpcServer>[1]["routes"]>[0]) =>
    router.service(SidecarService, {
      /** `lines` 1 selects the separate updates. */
      async *watchOutput(request: SidecarWatchRequest, context: HandlerContext) {
        const wanted = watchRequestOf(request);
        if (request.lines === 1) {
          for await (const update of naiveWatch(deps, wanted, context.signal)) yield outputUpdate(update);
          return;
        }
        const { first, rest } = await hub.watch(wanted, context.signal);
        yield outputUpdate(first);
        await rest(new FrameSink(context));
      },
    });
}
