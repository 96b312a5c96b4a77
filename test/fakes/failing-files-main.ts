// Loaded before a program (NODE_OPTIONS=--import): makes its FAIL_AT-th change to a file system fail as FAIL_HOW says:
// `kill` ends the process with SIGKILL in the middle of a write; any other value is the error code of the system.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const how = process.env["FAIL_HOW"] ?? "kill";
let left = Number(process.env["FAIL_AT"] ?? Number.POSITIVE_INFINITY);

type AnyFunction = (...args: unknown[]) => unknown;
const changes = ["writeSync", "linkSync", "renameSync", "rmSync"] as const;
const functions = fs as unknown as Record<string, AnyFunction>;

function failFrom(name: string, isChange: (args: unknown[]) => boolean): void {
  const real = functions[name] as AnyFunction;
  functions[name] = (...args) => {
    if (!isChange(args)) return real(...args);
    if (left-- > 0) return real(...args);
    if (how !== "kill") throw Object.assign(new Error(how), { code: how });
    if (name === "writeSync") real(args[0], (args[1] as Buffer).subarray(0, 10));
    process.kill(process.pid, "SIGKILL");
    for (;;); // until it arrives
  };
}

for (const name of changes) failFrom(name, () => true);
failFrom("openSync", ([, flags]) => flags === "wx");
syncBuiltinESMExports();
