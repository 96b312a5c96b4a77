// Runs an agent that speaks stdio and records each frame in a file, as a line `agent FRAME` or `client FRAME`:
// frame-tap-main.ts FILE PROGRAM [ARGUMENT…]
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [file = "", program = "", ...args] = process.argv.slice(2);
const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
agent.stdin.on("error", () => {});
agent.on("error", () => process.exit(127));
agent.on("exit", (code) => process.exit(code ?? 1));

createInterface({ input: process.stdin })
  .on("line", (line) => {
    appendFileSync(file, `client ${line}\n`);
    agent.stdin.write(`${line}\n`);
  })
  .on("close", () => agent.stdin.end());
createInterface({ input: agent.stdout }).on("line", (line) => {
  appendFileSync(file, `agent ${line}\n`);
  process.stdout.write(`${line}\n`);
});
