import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A program of `bench/peers` in a process of its own, so that its CPU time is counted separately. */
export interface Peer extends AsyncDisposable {
  readonly pid: number;
  /** Its first line of output. */
  readonly facts: string;
  /** Sends it a line; resolves with the line that it answers. */
  tell(order: string): Promise<string>;
}

export async function startPeer(file: string, ...args: readonly string[]): Promise<Peer> {
  const child = spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, "peers", file), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting: ((line: string) => void)[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => waiting.shift()?.(line));
  const ended = once(child, "exit").then(() => Promise.reject(new Error(`${file} ended`)));
  ended.catch(() => {});
  const line = async () => {
    return await Promise.race([new Promise<string>((resolve) => waiting.push(resolve)), ended]);
  };
  const facts = await line();
  return {
    pid: child.pid ?? 0,
    facts,
    tell: async (order) => {
      child.stdin.write(`${order}\n`);
      return await line();
    },
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}
