// A program that speaks the demo agent's JSON lines and misbehaves in the way that its first argument names.
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { createInterface } from "node:readline";

const [way = ""] = process.argv.slice(2);
const say = (value: object | string) =>
  process.stdout.write(typeof value === "string" ? value : `${JSON.stringify(value)}\n`);
const FOREVER_MS = 2 ** 30;
const stay = () => setTimeout(() => {}, FOREVER_MS);

if (process.argv.includes("--version")) {
  if (way === "hangs-at-version") stay();
  else process.stdout.write("hostile 1.2.3\n");
} else if (way === "exits-at-once") {
  process.stderr.write("starting\nno licence for api_key=sk-ant-0123456789abcdefghij\n");
  process.exitCode = 3;
} else if (way === "hangs-at-start" || way === "hangs-at-version") {
  stay();
} else {
  say({ type: "ready", protocol: 1 });
  createInterface({ input: process.stdin }).on("line", (line) => onMessage((JSON.parse(line) as { id: string }).id));
  if (way === "ignores-term") {
    process.on("SIGTERM", () => say({ type: "text", text: "not now\n" }));
    stay();
  }
}

function onMessage(id: string): void {
  if (way !== "never-answers") say({ type: "taken", id, held: false });
  say({ type: "started", id });
  WAYS[way]?.();
  if (way === "forks" || way === "daemonises" || way === "floods" || way === "long-line" || way === "forks-and-exits")
    say({ type: "done", id });
}

const WAYS: Readonly<Record<string, () => void>> = {
  "dies-in-mid-line": () => {
    process.stdout.write('{"type":"text","text":"half a li', () => process.kill(process.pid, "SIGKILL"));
  },
  "closes-its-output": () => closeSync(1),
  "dies-with-its-input-closed": () => process.stdin.destroy(),
  forks: () => fork(),
  daemonises: () => fork(true),
  "forks-and-exits": () => {
    fork();
    setTimeout(() => process.exit(0), 100);
  },
  floods: () => {
    const line = `${JSON.stringify({ type: "text", text: `${"x".repeat(120)}\n` })}\n`.repeat(512);
    for (let megabytes = 0; megabytes < 40; megabytes += line.length / 1e6) process.stdout.write(line);
  },
  "long-line": () => {
    const piece = "y".repeat(1024 * 1024);
    for (let count = 0; count < 100; count++) process.stdout.write(piece);
    process.stdout.write("\n");
  },
};

/** Starts a child that ignores TERM and holds the pipes open, and reports its pid. `detached`: in its own session. */
function fork(detached = false): void {
  const script = "trap '' TERM; while :; do sleep 1000; done";
  const child = spawn("/bin/sh", ["-c", script], { stdio: "inherit", detached });
  say({ type: "text", text: `child ${child.pid}\n` });
}
