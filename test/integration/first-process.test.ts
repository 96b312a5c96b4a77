import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { root } from "../../scripts/step.ts";
import { PID_NAMESPACE, requirePidNamespace } from "../support/sidecar/pid-namespace.ts";

/** The long run of 10,000 takes minutes. */
const COUNT = process.env["GT_TEST_ORPHANS"] ?? "300";

it(`the first process of a pid namespace leaves no zombie among ${COUNT} orphans and steals no exit code from Node, a worker or a pty`, (context) => {
  requirePidNamespace(context);
  const [program, ...namespace] = PID_NAMESPACE;
  const args = [...namespace, process.execPath, "test/fakes/first-process-main.ts", COUNT];
  const options = { cwd: root, encoding: "utf8", timeout: 1_200_000, killSignal: "SIGKILL" } as const;
  const report = JSON.parse(execFileSync(program, args, options));
  expect(report).toMatchObject({ pid: 1, wrong: { node: 0, worker: 0, pty: 0 }, zombies: 0 });
  expect(report.reaped).toBeGreaterThanOrEqual(Number(COUNT));
}, 1_200_000);
