#!/usr/bin/env node
// Starts a TypeScript program of this repository on the Node it needs. Plain JavaScript, runs on Node >= 18.
//
//   node scripts/launch.mjs FILE.ts [ARG…]      run a source file
//   node scripts/launch.mjs --bin NAME [ARG…]   run a package's program from node_modules/.bin
//
// Installs the packages first when they are missing or older than package-lock.json, then goes on with its own Node
// if that is >= 24, else with the one that came with the packages.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const WANTED_MAJOR = 24;
const root = resolve(dirname(realpathSync(fileURLToPath(import.meta.url))), "..");

function installPackages() {
  const stamp = join(root, "node_modules", ".package-lock.json");
  const lock = join(root, "package-lock.json");
  if (!existsSync(lock)) return;
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= statSync(lock).mtimeMs - 1000) return;
  process.stderr.write("installing packages (once, about a minute) …\n");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const done = spawnSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (done.status !== 0) fail(`npm ci failed in ${root} (exit ${done.status ?? done.error?.message})`);
}

function nodeProgram() {
  if (Number(process.versions.node.split(".")[0]) >= WANTED_MAJOR) return process.execPath;
  const packaged = join(root, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
  if (existsSync(packaged)) return packaged;
  return fail(
    `Node ${WANTED_MAJOR} or newer is needed and no packaged one exists for ${process.platform}-${process.arch}; this is ${process.version}`,
  );
}

function binFile(name) {
  const link = join(root, "node_modules", ".bin", name);
  if (!existsSync(link)) fail(`no program "${name}" in node_modules/.bin`);
  return realpathSync(link);
}

function fail(text) {
  process.stderr.write(`error: ${text}\n`);
  process.exit(1);
}

installPackages();
const [first, ...rest] = process.argv.slice(2);
if (first === undefined) fail("usage: launch.mjs FILE.ts [ARG…] | --bin NAME [ARG…]");
let file = first === "--bin" ? binFile(rest.shift() ?? fail("--bin needs a name")) : resolve(root, first);
const isScript = first !== "--bin" || readFileSync(file, { encoding: "latin1" }).startsWith("#!/usr/bin/env node");
const node = nodeProgram();
const args = isScript ? ["--disable-warning=ExperimentalWarning", file, ...rest] : rest;
if (!isScript) file = realpathSync(file);
const child = spawn(isScript ? node : file, args, {
  stdio: "inherit",
  env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH ?? ""}` },
});
for (const signal of ["SIGTERM", "SIGHUP", "SIGQUIT"]) process.on(signal, () => child.kill(signal));
process.on("SIGINT", () => {}); // a terminal sends it to the child as well
child.on("error", (err) => fail(err.message));
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 1)));
