// Runs `npm ci` once, however many programs request it at the same time. Plain JavaScript, runs on Node >= 18.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const PROGRESS_MS = 10_000;
const NPM_ARGS = [
  "ci",
  "--include=dev",
  "--include=optional",
  "--ignore-scripts",
  "--engine-strict=false",
  "--no-audit",
  "--no-fund",
  "--loglevel=error",
];

/** Installs the packages of `root` unless `isFresh` reports that another process has done so meanwhile. */
export async function installOnce(root, isFresh) {
  try {
    accessSync(root, constants.W_OK);
  } catch {
    throw new Error(`packages are missing or old and ${root} cannot be written: run "npm ci" there as its owner`);
  }
  const lock = await takeLock(root);
  try {
    if (!isFresh()) await npmCi(root);
  } finally {
    lock?.close();
  }
}

/**
 * The lock is a listening socket with a name and no file (Linux), which the kernel frees however its holder ends. Later
 * callers connect to it and wait for the connection to end. Other systems have no lock.
 */
async function takeLock(root) {
  if (process.platform !== "linux") return undefined;
  const name = `\0gt-npm-ci-${createHash("sha256").update(root).digest("hex").slice(0, 32)}`;
  for (let waited = false; ; waited = true) {
    const server = await listen(name);
    if (server !== undefined) return server;
    if (!waited) process.stderr.write("another process is installing the packages; waiting for it …\n");
    await connectionEnd(name);
    await sleep(50);
  }
}

function listen(name) {
  return new Promise((resolve, reject) => {
    const waiting = new Set();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => waiting.delete(socket));
    });
    const close = server.close.bind(server);
    server.close = () => {
      close();
      for (const socket of waiting) socket.destroy();
    };
    server.on("error", (err) => (err.code === "EADDRINUSE" ? resolve(undefined) : reject(err)));
    server.listen(name, () => resolve(server));
  });
}

function connectionEnd(name) {
  return new Promise((resolve) => {
    const socket = connect(name);
    socket.resume();
    socket.on("error", resolve);
    socket.on("close", resolve);
  });
}

async function npmCi(root) {
  process.stderr.write("installing packages (once, about a minute) …\n");
  const started = Date.now();
  const ticker = new AbortController();
  const progress = reportProgress(started, ticker.signal);
  try {
    await runNpm(root);
  } finally {
    ticker.abort();
    await progress;
  }
  process.stderr.write(`packages installed in ${seconds(started)} s\n`);
}

async function reportProgress(started, signal) {
  try {
    for (;;) {
      await sleep(PROGRESS_MS, undefined, { signal });
      process.stderr.write(`  still installing, ${seconds(started)} s\n`);
    }
  } catch {}
}

const seconds = (since) => Math.round((Date.now() - since) / 1000);

/** Runs the npm that started us if there is one, else the one on PATH. */
function runNpm(root) {
  const ours = process.env.npm_execpath;
  const isNpm = ours !== undefined && /npm-cli\.[cm]?js$/.test(ours);
  const [program, args] = isNpm ? [process.execPath, [ours, ...NPM_ARGS]] : ["npm", NPM_ARGS];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
    child.on("error", (err) => reject(new Error(`cannot run npm to install the packages: ${err.message}`)));
    child.on("exit", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`npm ci failed in ${root} (${signal ?? `exit ${code}`})`));
    });
  });
}
