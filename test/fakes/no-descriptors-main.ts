// Uses up this process's file descriptors, then starts programs as the rooms do. Prints the results, one per line.
import { closeSync, openSync } from "node:fs";
import { OrphanGuard } from "../../internal/process/children/orphan-guard.ts";
import { ForkedCommands } from "../../internal/tmux/client/forked-commands.ts";

const said: string[] = [];
const commands = new ForkedCommands({ tmuxProgram: "tmux", socketPath: "/nowhere/tmux.sock", env: process.env });
const guard = new OrphanGuard();
const held: number[] = [];
try {
  for (;;) held.push(openSync("/dev/null", "r"));
} catch (err) {
  said.push(`full: ${(err as NodeJS.ErrnoException).code}`);
}
const unguard = guard.watch(process.pid, "mark");
said.push("guard: goes on");
const failure = await commands.command("list-sessions").then(
  () => "none",
  (err: Error) => err.name,
);
said.push(`tmux: ${failure}`);
for (const fd of held) closeSync(fd);
unguard();
process.stdout.write(`${said.join("\n")}\n`);
