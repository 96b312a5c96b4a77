import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { root } from "../../scripts/step.ts";

const NAMESPACE = ["--pid", "--fork", "--kill-child", "--mount-proc"];
/** The long run of 10,000 takes minutes. */
const COUNT = process.env["GT_TEST_ORPHANS"] ?? "300";

function isPermitted(): boolean {
  try {
    execFileSync("unshare", [...NAMESPACE, "true"], { stdio: "ignore", timeout: 5000, killSignal: "SIGKILL" });
    return true;
  } catch {
    process.stderr.write("first process: skipped, this machine does not permit pid namespaces (unshare --pid)\n");
    return false;
  }
}

it.runIf(isPermitted())(
  `the first process of a pid namespace leaves no zombie among ${COUNT} orphans and takes no exit code from Node, a worker or a pty`,
  () => {
    const args = [...NAMESPACE, process.execPath, "test/fakes/first-process-main.ts", COUNT];
    const options = { cwd: root, encoding: "utf8", timeout: 1_200_000, killSignal: "SIGKILL" } as const;
    const report = JSON.parse(execFileSync("unshare", args, options));
    expect(report).toMatchObject({ pid: 1, wrong: { node: 0, worker: 0, pty: 0 }, zombies: 0 });
    expect(report.reaped).toBeGreaterThanOrEqual(Number(COUNT));
  },
  1_200_000,
);
