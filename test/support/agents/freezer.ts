import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Stops a process and all its descendants, as on a machine without time or memory for them. SIGSTOP does not suffice:
 * tmux sends SIGCONT to a pane's stopped process. Needs a cgroup that this process may write: version 1 or 2.
 */
export interface Freezer extends AsyncDisposable {
  freeze(pid: number): Promise<void>;
  thaw(): Promise<void>;
}

const V1 = "/sys/fs/cgroup/freezer";
const V2 = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];

/** Undefined if no cgroup can be made. */
export async function makeFreezer(): Promise<Freezer | undefined> {
  const name = `gt-test-${randomUUID().slice(0, 8)}`;
  const v2 = V2.find((root) => existsSync(join(root, "cgroup.controllers")));
  const places = [
    ...(existsSync(V1) ? [{ root: V1, file: "freezer.state", on: "FROZEN", off: "THAWED" }] : []),
    ...(v2 === undefined ? [] : [{ root: v2, file: "cgroup.freeze", on: "1", off: "0" }]),
  ];
  for (const place of places) {
    const dir = join(place.root, name);
    const isMade = await mkdir(dir).then(
      () => existsSync(join(dir, place.file)),
      () => false,
    );
    if (isMade) return freezerIn({ ...place, dir });
  }
  return undefined;
}

function freezerIn(place: {
  readonly root: string;
  readonly dir: string;
  readonly file: string;
  readonly on: string;
  readonly off: string;
}): Freezer {
  const { root, dir, file, on, off } = place;
  const set = (state: string) => writeFile(join(dir, file), state);
  const move = async (pid: string, to: string) => {
    await writeFile(join(to, "cgroup.procs"), pid).catch(() => {}); // it may have ended
  };
  const members = async () => (await readFile(join(dir, "cgroup.procs"), "utf8")).split("\n").filter(Boolean);
  return {
    freeze: async (pid) => {
      for (const each of await treeOf(pid)) await move(each, dir);
      await set(on);
    },
    thaw: async () => {
      await set(off);
    },
    [Symbol.asyncDispose]: async () => {
      await set(off);
      for (let tries = 0; tries < 20; tries++) {
        for (const pid of await members()) await move(pid, root);
        const isGone = await rmdir(dir).then(
          () => true,
          () => false,
        );
        if (isGone) return;
        await sleep(50);
      }
    },
  };
}

async function treeOf(pid: number): Promise<readonly string[]> {
  const parents = new Map<string, string>();
  for (const name of (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    const stat = await readFile(`/proc/${name}/stat`, "latin1").catch(() => "");
    parents.set(name, stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? "");
  }
  const below = (of: string): string[] =>
    [...parents].filter(([, parent]) => parent === of).flatMap(([child]) => [child, ...below(child)]);
  return [String(pid), ...below(String(pid))];
}
