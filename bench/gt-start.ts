import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildBinary } from "../scripts/build.ts";
import { root } from "../scripts/step.ts";
import { tmuxSandbox } from "../test/support/screens/tmux-sandbox.ts";
import { startSidecar } from "../test/support/sidecar/sidecar.ts";
import type { BenchContext } from "./context.ts";
import { type Measured, measured } from "./report/row.ts";
import { interleave, median } from "./stats.ts";

const run = promisify(execFile);

/** Measures commands of the built gt from start to exit, compared with an empty program of the same Node. */
export async function measureGt({ program, env, quick, signal, say }: BenchContext): Promise<readonly Measured[]> {
  say("gt: commands from shell to shell");
  await using sandbox = await tmuxSandbox({ argv: ["sh", "-c", "seq 100; exec sleep 100000"] });
  await using sidecar = await startSidecar({ program, env });
  const gt = await buildBinary("gt", join(sidecar.dir, "gt-build"));
  const { hostname, port } = new URL(sidecar.url);
  const peek = ["peek", "--host", hostname, "--port", port, "test/polecats/demo"];
  const commands: Readonly<Record<string, readonly string[]>> = {
    "--help": ["--help"],
    agents: ["agents", "--socket", sandbox.socketPath],
    "peek, a sidecar": peek,
    "peek, local tmux": ["peek", "--socket", sandbox.socketPath, "claude"],
  };
  const times = new Map<string, number[]>();
  const arm =
    (name: string, args: readonly string[], file = process.execPath) =>
    async () => {
      const at = performance.now();
      await run(file, args, { env: { PATH: process.env["PATH"], HOME: sidecar.dir } });
      const all = times.get(name) ?? [];
      times.set(name, [...all, performance.now() - at]);
    };
  const ours = Object.entries(commands).map(([name, args]) => arm(name, [gt, ...args]));
  const clone = [arm("the caller's node", ["-e", "0"], "node"), arm("clone", peek, join(root, "cmd/gt/gt"))];
  await interleave(quick ? 5 : 21, [arm("node", ["-e", "0"]), ...ours, ...clone], signal);
  const row = (name: string, timed: string, baseline: string) =>
    measured(`gt ${name}: from shell to shell, p50 (baseline: node -e 0)`, median(times.get(timed) ?? []), "ms", {
      baseline: median(times.get(baseline) ?? []),
      ratioAtMost: 3,
    });
  return [
    ...Object.keys(commands).map((name) => row(name, name, "node")),
    row("peek, a sidecar, in a clone, beside the node in PATH", "clone", "the caller's node"),
  ];
}
