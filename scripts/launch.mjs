#!/usr/bin/env node
// Starts a TypeScript program of this repository on the Node it needs. Plain JavaScript, runs on Node >= 18.
//
//   node scripts/launch.mjs FILE.ts [ARG…]      run a source file
//   node scripts/launch.mjs --bin NAME [ARG…]   run a package's program from node_modules/.bin
//
// Installs the packages first if they are missing or differ from package-lock.json, then continues with its own Node if
// that is >= 24, else with the packaged one. Exit codes and signals pass through.
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readSync, realpathSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ensurePackages } from "./install-packages.mjs";

const WANTED_MAJOR = 24;
const root = resolve(dirname(realpathSync(fileURLToPath(import.meta.url))), "..");

class UsageError extends Error {}

function nodeProgram() {
  if (Number(process.versions.node.split(".")[0]) >= WANTED_MAJOR) return process.execPath;
  const packaged = join(root, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
  if (existsSync(packaged)) return packaged;
  const place = `${process.platform}-${process.arch}`;
  throw new UsageError(
    `this is Node ${process.version} and there is no packaged Node for ${place}: install Node ${WANTED_MAJOR} (or run "npm ci" if the packages are incomplete)`,
  );
}

/** The command line: a source file on `node`, or a package's program, on `node` if it is a script. */
function commandLine(node, [first, ...rest]) {
  if (first === undefined) throw new UsageError("usage: launch.mjs FILE.ts [ARG…] | --bin NAME [ARG…]");
  const options = ["--disable-warning=ExperimentalWarning", "--import", join(root, "scripts", "compile-cache.mjs")];
  if (first !== "--bin") return [node, ...options, resolve(root, first), ...rest];
  const [name, ...args] = rest;
  if (name === undefined) throw new UsageError("--bin needs a name");
  const link = join(root, "node_modules", ".bin", name);
  if (!existsSync(link)) throw new UsageError(`no program "${name}" in node_modules/.bin`);
  const file = realpathSync(link);
  return isNodeScript(file) ? [node, file, ...args] : [file, ...args];
}

function isNodeScript(file) {
  const start = Buffer.alloc(64);
  const fd = openSync(file, "r");
  readSync(fd, start, 0, start.length, 0);
  closeSync(fd);
  return start.toString("latin1").startsWith("#!/usr/bin/env node");
}

/**
 * Programs of packages start others by name; a source file finds its own Node and leaves PATH unchanged for its
 * children.
 */
function environment(node, isBin) {
  if (!isBin) return process.env;
  return { ...process.env, PATH: [dirname(node), process.env.PATH ?? ""].join(delimiter) };
}

/** Replaces this process with the program if Node can do that; else starts it and exits as it does. */
function become([program, ...args], env) {
  if (typeof process.execve === "function" && Number(process.versions.node.split(".")[0]) >= WANTED_MAJOR) {
    process.execve(program, [program, ...args], env);
  }
  const child = spawn(program, args, { stdio: "inherit", env });
  const forwarded = ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
  const forward = (signal) => child.kill(signal);
  for (const signal of forwarded) process.on(signal, forward);
  const onInterrupt = () => hasTerminal() || child.kill("SIGINT");
  process.on("SIGINT", onInterrupt);
  child.on("error", (err) => fail(`cannot start ${program}: ${err.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.off("SIGINT", onInterrupt);
    for (const name of forwarded) process.off(name, forward);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(128 + constants.signals[signal]), 100); // PID 1 survives its own signals
  });
}

/** A terminal sends its interrupt to the program as well; a second one would mean "at once". */
function hasTerminal() {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

function fail(text) {
  process.stderr.write(`error: ${text}\n`);
  process.exit(1);
}

try {
  await ensurePackages(root);
  const node = nodeProgram();
  const words = process.argv.slice(2);
  become(commandLine(node, words), environment(node, words[0] === "--bin"));
} catch (err) {
  fail(err.message);
}
