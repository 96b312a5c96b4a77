// Keeps node_modules equal to package-lock.json. Plain JavaScript, runs on Node >= 18.
import { existsSync, readFileSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";

/**
 * Resolves when the packages of `root` are those of its lock file. If they are already, it starts and writes nothing,
 * so a read-only clone with packages works, offline too. Of several concurrent callers one installs, the others wait
 * for it.
 */
export async function ensurePackages(root) {
  if (packagesAreFresh(root)) return;
  // Imported only here, because the usual start does not need it.
  const { installOnce } = await import("./npm-ci.mjs");
  await installOnce(root, () => packagesAreFresh(root));
}

function packagesAreFresh(root) {
  const lock = join(root, "package-lock.json");
  const installed = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(lock)) return true;
  if (!existsSync(installed)) return false;
  if (statSync(installed).mtimeMs > statSync(lock).mtimeMs) return true;
  if (!samePackages(packagesOf(lock), packagesOf(installed))) return false;
  touch(installed);
  return true;
}

/** npm leaves out packages for other platforms; all others must be present in the version of the lock file. */
function samePackages(wanted, present) {
  const names = Object.keys(wanted).filter((name) => name !== "");
  return (
    names.every((name) => (present[name] ? same(present[name], wanted[name]) : wanted[name].optional === true)) &&
    Object.keys(present).every((name) => name in wanted)
  );
}

const same = (a, b) => a.version === b.version && a.integrity === b.integrity;

function packagesOf(file) {
  return JSON.parse(readFileSync(file, "utf8")).packages ?? {};
}

/** Makes the next check cheap; in another user's or a read-only folder each check compares the packages. */
function touch(file) {
  try {
    const now = new Date();
    utimesSync(file, now, now);
  } catch {}
}
