import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The controlling end of `printer.ts`, over all of its lives. */
export interface Printing extends AsyncDisposable {
  readonly command: readonly [string, ...string[]];
  /** The number of bytes printed so far. */
  readonly position: number;
  /** Applies from now on, in each life. */
  pace(bytesPerSecond: number): void;
  /** The order is lost if the program is between two lives. */
  flood(bytes: number): void;
  /** Ends this life. */
  end(): void;
}

/** `dir`: a private folder for the socket and the position; `pace` in bytes per second. */
export async function printing(dir: string, pace: number): Promise<Printing> {
  const [path, stateFile] = [join(dir, "printer.sock"), join(dir, "position")];
  await writeFile(stateFile, "0");
  let position = 0;
  let paceNow = pace;
  let current: Socket | undefined;
  const server = createServer((socket) => {
    current = socket;
    socket.on("error", () => {});
    createInterface({ input: socket }).on("line", (line) => {
      position = Math.max(position, Number(line));
    });
    socket.write(`pace ${paceNow}\n`);
  }).listen(path);
  await once(server, "listening");
  const script = 'stty raw -echo; exec "$@"'; // the terminal passes the output on unchanged
  const file = join(import.meta.dirname, "printer.ts");
  const tell = (order: string) => void current?.write(`${order}\n`);
  return {
    command: ["sh", "-c", script, "sh", process.execPath, ...process.execArgv, file, path, stateFile],
    get position() {
      return position;
    },
    pace: (bytesPerSecond) => {
      paceNow = bytesPerSecond;
      tell(`pace ${bytesPerSecond}`);
    },
    flood: (bytes) => tell(`flood ${bytes}`),
    end: () => tell("end"),
    [Symbol.asyncDispose]: async () => {
      current?.destroy();
      server.close();
      await Promise.resolve();
    },
  };
}
