import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { buildBinary } from "../scripts/build.ts";
import { tmuxSandbox } from "../test/support/screens/tmux-sandbox.ts";
import { startSidecar } from "../test/support/sidecar/sidecar.ts";
import type { BenchContext } from "./context.ts";
import { type Measured, measured } from "./report/row.ts";
import { interleave, quantile } from "./stats.ts";

/** A terminal in which keys are pressed one by one, each after the previous key's echo has arrived. */
interface Desk extends AsyncDisposable {
  /** Milliseconds from a key to its echo. */
  readonly press: () => Promise<number>;
}

const ECHO_MS = 10_000;
/** The number of keys in each row; not a multiple of the number of letters. */
const LINE = 60;
const KEYS = "abcdefghijklmnopqrstuvwxyz";
/** A program that echoes its input at once. */
const ECHO = ["sh", "-c", "stty -echo raw; printf ready; exec cat"] as const;

/** Measures the time from a key to its echo: through `gt attach` and the sidecar, and through `tmux attach`. */
export async function measureAttach(context: BenchContext): Promise<readonly Measured[]> {
  const { quick, signal, say } = context;
  await using stack = new AsyncDisposableStack();
  const ours = stack.use(await throughGt(context));
  const theirs = stack.use(await throughTmux());
  const times = new Map<Desk, number[]>([
    [ours, []],
    [theirs, []],
  ]);
  const arm = (desk: Desk) => async (round: number) => {
    say(`attach: round ${round + 1}, ${desk === ours ? "gt attach" : "tmux attach"}`);
    for (let i = 0; i < (quick ? 40 : 150); i++) {
      signal.throwIfAborted();
      times.get(desk)?.push(await desk.press());
      await pause(5 + (i % 7) * 5); // as fast as a quick person
    }
  };
  await interleave(quick ? 2 : 4, [arm(ours), arm(theirs)], signal);
  const [a = [], b = []] = [times.get(ours), times.get(theirs)];
  const name = (what: string) => `attach, key echo: ${what}`;
  return [
    measured(name("p50 (baseline: tmux attach)"), quantile(a, 0.5), "ms", { baseline: quantile(b, 0.5) }),
    measured(name("p99"), quantile(a, 0.99), "ms", { baseline: quantile(b, 0.99) }),
  ];
}

async function throughGt({ program, env }: BenchContext): Promise<Desk> {
  await using stack = new AsyncDisposableStack();
  const sidecar = stack.use(await startSidecar({ program, env, agent: "generic", command: ECHO }));
  const gt = await buildBinary("gt", sidecar.dir);
  const where = ["--host", sidecar.host, "--port", String(sidecar.port)];
  const home = { HOME: sidecar.dir, XDG_RUNTIME_DIR: sidecar.runtimeDir };
  const desk = stack.use(await seated(process.execPath, [gt, "attach", "demo", ...where], home));
  const all = stack.move();
  return { press: desk.press, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function throughTmux(): Promise<Desk> {
  await using stack = new AsyncDisposableStack();
  const sandbox = stack.use(await tmuxSandbox({ argv: ECHO }));
  const args = ["-N", "-u", "-S", sandbox.socketPath, "attach-session", "-t", `=${sandbox.session}`];
  const desk = stack.use(await seated("tmux", args, { HOME: join(sandbox.dir, "home") }));
  const all = stack.move();
  return { press: desk.press, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function seated(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Desk> {
  const pty = spawn(program, [...args], {
    name: "xterm-256color",
    cols: 100,
    rows: 30,
    env: { PATH: process.env["PATH"] ?? "", LANG: "C.UTF-8", TERM: "xterm-256color", ...env },
  });
  const exited = new Promise<void>((resolve) => pty.onExit(() => resolve()));
  let hear: (data: string) => void = () => {};
  pty.onData((data) => hear(data));
  const sees = (text: string): Promise<number> => {
    const begun = performance.now();
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no ${JSON.stringify(text)} within ${ECHO_MS} ms`)), ECHO_MS);
      let seen = "";
      hear = (data) => {
        seen += data;
        if (!seen.includes(text)) return;
        clearTimeout(late);
        hear = () => {};
        resolve(performance.now() - begun);
      };
    });
  };
  await sees("ready");
  await pause(6000); // the notice shown at the beginning is gone by then
  let pressed = 0;
  const press = async (): Promise<number> => {
    // Each position gets a letter that differs from the letter in the previous row: the same letter would change
    // nothing, and might not be drawn.
    const key = KEYS[pressed % KEYS.length] ?? "";
    if (pressed++ % LINE === LINE - 1) {
      pty.write("\r");
      await pause(100);
    }
    const seen = sees(key);
    pty.write(key);
    return await seen;
  };
  return {
    press,
    [Symbol.asyncDispose]: async () => {
      pty.kill("SIGTERM");
      await exited;
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
