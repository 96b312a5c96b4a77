// Starts `sleep` under an OrphanGuard, prints its pid, and is killed before the guard knows the process's group.
// Argument: the mark.
import { spawn } from "node:child_process";
import { writeSync } from "node:fs";
import { MARK_VARIABLE } from "../../internal/process/children/marked-processes.ts";
import { OrphanGuard } from "../../internal/process/children/orphan-guard.ts";

const mark = process.argv[2] ?? "";
await new OrphanGuard().start(mark, () => {
  const env = { PATH: process.env["PATH"], [MARK_VARIABLE]: mark };
  const { pid } = spawn("sleep", ["1000"], { detached: true, stdio: "ignore", env });
  writeSync(1, String(pid));
  process.kill(process.pid, "SIGKILL");
  return new Promise<never>(() => {});
});
