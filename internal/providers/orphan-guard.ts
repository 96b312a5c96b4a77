import { type ChildProcess, spawn } from "node:child_process";

/**
 * Reads `+ GROUP` and `- GROUP` until its input ends, and then ends the groups that are left. Its input ends when the
 * process that holds the other end does, however that happens.
 */
const SCRIPT = `
trap '' HUP INT TERM
groups=
while read -r sign id; do
  left=
  for each in $groups; do [ "$each" = "$id" ] || left="$left $each"; done
  groups=$left
  [ "$sign" = - ] || groups="$groups $id"
done
[ -n "$groups" ] || exit 0
for id in $groups; do kill -s TERM -- "-$id"; done
sleep 2
for id in $groups; do kill -s KILL -- "-$id"; done
`;

/**
 * Ends the process groups of agents when this process ends without having done that, by `kill -9` too. A shell watches
 * while there is a group to watch; where there is no shell, nothing is guarded.
 */
export class OrphanGuard {
  readonly #groups = new Set<number>();
  #shell: ChildProcess | undefined;

  /** Watches the group with this id. Returns what ends that. */
  watch(group: number): () => void {
    this.#groups.add(group);
    if (this.#shell === undefined) this.#start();
    else this.#tell(`+ ${group}`);
    return () => {
      if (this.#groups.delete(group)) this.#tell(`- ${group}`);
      if (this.#groups.size === 0) this.#end();
    };
  }

  #start(): void {
    const shell = spawn("/bin/sh", ["-c", SCRIPT, "gt-agent-guard"], {
      env: { PATH: "/usr/bin:/bin" },
      stdio: ["pipe", "ignore", "ignore"],
      detached: true, // a signal to this process's group is not for it
    });
    const forget = () => {
      if (this.#shell === shell) this.#shell = undefined;
    };
    shell.once("error", forget);
    shell.once("exit", forget);
    shell.stdin.on("error", forget);
    this.#shell = shell;
    for (const group of this.#groups) this.#tell(`+ ${group}`);
  }

  #tell(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`);
  }

  #end(): void {
    this.#shell?.stdin?.end();
    this.#shell = undefined;
  }
}
