import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Times of the machine's monotonic clock, milliseconds. */
interface Written {
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The controlling end of `peers/pane-writer.ts`: orders it to write text, and learns when the text was written. */
export interface PaneProgram extends AsyncDisposable {
  readonly command: readonly [string, ...string[]];
  flood(bytes: number): Promise<Written>;
  /** Like `flood`, with a tick before each 256 KiB. */
  tickingFlood(bytes: number): Promise<Written>;
  /** `endedAt`: the time when the writer received the Ctrl-C. */
  floodUntilInterrupted(): Promise<Written>;
  tick(count: number): Promise<Written>;
}

export async function paneProgram(): Promise<PaneProgram> {
  const dir = await mkdtemp(join(tmpdir(), "gt-bench-"));
  const path = join(dir, "writer.sock");
  const server = createServer().listen(path);
  await once(server, "listening");
  const answers: ((written: Written) => void)[] = [];
  const writer = (async () => {
    const [socket] = (await once(server, "connection")) as [Socket];
    socket.on("error", () => {}); // it ends with its pane
    createInterface({ input: socket }).on("line", (line) => answers.shift()?.(JSON.parse(line)));
    return socket;
  })();
  const tell = async (order: string) => {
    const { promise, resolve } = Promise.withResolvers<Written>();
    answers.push(resolve);
    (await writer).write(`${order}\n`);
    return promise;
  };
  const file = join(import.meta.dirname, "peers/pane-writer.ts");
  return {
    command: [process.execPath, ...process.execArgv, file, path],
    flood: (bytes) => tell(`flood ${bytes}`),
    tickingFlood: (bytes) => tell(`ticking-flood ${bytes}`),
    floodUntilInterrupted: () => tell("flood-until-interrupted"),
    tick: (count) => tell(`tick ${count}`),
    [Symbol.asyncDispose]: async () => {
      server.close();
      (await Promise.race([writer, Promise.resolve(undefined)]))?.destroy();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
