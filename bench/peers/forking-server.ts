// Serves Peek by forking tmux for every call, for comparison. Prints its ports: plaintext and TLS.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { runTasks } from "../../internal/base/task-group.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import type { Routes } from "../../internal/rpc/server/adapter.ts";
import { Metrics } from "../../internal/rpc/server/metrics.ts";
import { RpcServer } from "../../internal/rpc/server/server.ts";

const run = promisify(execFile);
const FACTS = "#{alternate_on} #{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{history_size}";

await runMain({ name: "forking-server" }, async ({ argv, stdout, signal }) => {
  const [socketPath = "", tlsDir = ""] = argv;
  const read = (name: string) => readFileSync(join(tlsDir, name), "utf8");
  const tls = { cert: read("tls.crt"), key: read("tls.key"), ca: read("ca.crt") };
  const deps = { clock: systemClock, logger: createLogger("forking-server", "error") };
  const common = { host: "127.0.0.1", port: 0, routes: routesFor(socketPath), graceMs: 500 };
  const plain = new RpcServer({ ...deps, metrics: new Metrics() }, common);
  const secure = new RpcServer({ ...deps, metrics: new Metrics() }, { ...common, tls });
  const running = runTasks(signal, [plain, secure]);
  const [a, b] = await Promise.all([plain.listening, secure.listening]);
  stdout.write(`${a.port} ${b.port}\n`);
  await running;
  return 0;
});

function routesFor(socketPath: string): Routes {
  return (router) =>
    router.service(SidecarService, {
      async peek({ lines }) {
        const display = ["display-message", "-p", "-t", "=claude:", FACTS];
        const capture = ["capture-pane", "-p", "-S", String(-lines), "-t", "=claude:"];
        const { stdout } = await run("tmux", ["-N", "-u", "-S", socketPath, ...display, ";", ...capture]);
        const [facts = "", ...rows] = stdout.split("\n");
        const [alternate, cols = 0, height = 0, cursorX = 0, cursorY = 0, historyLines = 0] = facts
          .split(" ")
          .map(Number);
        const used = rows.map((row) => row.trimEnd());
        const output = used
          .slice(0, used.findLastIndex((row) => row !== "") + 1)
          .slice(-lines)
          .join("\n");
        return {
          output,
          sessionAlive: true,
          alternateScreen: alternate === 1,
          cols,
          rows: height,
          cursorX,
          cursorY,
          historyLines,
        };
      },
    });
}
