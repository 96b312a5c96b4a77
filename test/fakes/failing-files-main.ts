// Loaded before a program (NODE_OPTIONS=--import): makes its FAIL_AT-th change to a file system fail as FAIL_HOW says:
// `kill` ends the process with SIGKILL in the middle of a write; an error code makes the system refuse the change.
// `copy` lets each change succeed, and before it copies the working folder to KILLED/0, KILLED/1 and so on, as a kill
// at this change leaves it: in the middle of a write, and with the links between its files.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const how = process.env["FAIL_HOW"] ?? "kill";
let left = Number(process.env["FAIL_AT"] ?? Number.POSITIVE_INFINITY);
let copies = 0;

type AnyFunction = (...args: unknown[]) => unknown;
const changes = ["writeSync", "linkSync", "renameSync", "rmSync"] as const;
const functions = fs as unknown as Record<string, AnyFunction>;

function failFrom(name: string, isChange: (args: unknown[]) => boolean): void {
  const real = functions[name] as AnyFunction;
  functions[name] = (...args) => {
    if (!isChange(args)) return real(...args);
    if (how !== "copy" && left-- > 0) return real(...args);
    if (how !== "copy" && how !== "kill") throw Object.assign(new Error(how), { code: how });
    const write = (from: number, to?: number) => Number(real(args[0], (args[1] as Buffer).subarray(from, to)));
    const written = name === "writeSync" ? write(0, 10) : undefined;
    if (how === "copy") {
      copyFolder();
      return written === undefined ? real(...args) : written + write(written);
    }
    process.kill(process.pid, "SIGKILL");
    for (;;); // until it arrives
  };
}

function copyFolder(): void {
  const { status, error } = spawnSync("cp", ["-a", ".", `${process.env["KILLED"]}/${copies++}`]);
  if (status !== 0) throw new Error("cannot copy the working folder", { cause: error });
}

for (const name of changes) failFrom(name, () => true);
failFrom("openSync", ([, flags]) => flags === "wx");
syncBuiltinESMExports();
