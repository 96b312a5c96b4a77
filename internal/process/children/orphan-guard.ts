import { type ChildProcess, spawn } from "node:child_process";
import { MARK_VARIABLE } from "./marked-processes.ts";

/** Stands for the group of a process that has yet to start. */
const NO_GROUP = "-";

/**
 * Reads `+ GROUP MARK` and `- GROUP MARK` until its input ends, then ends the remaining groups and the processes with
 * their marks. Its input ends when the process at the other end does, however that happens.
 */
const SCRIPT = `
trap '' HUP INT TERM
agents=
while read -r sign agent; do
  agent=$(echo "$agent" | tr ' ' ':')
  left=
  for each in $agents; do [ "$each" = "$agent" ] || left="$left $each"; done
  agents=$left
  [ "$sign" = - ] || agents="$agents $agent"
done
[ -n "$agents" ] || exit 0
end() {
  for each in $agents; do
    [ "\${each%:*}" = ${NO_GROUP} ] || kill -s "$1" -- "-\${each%:*}"
    for file in $(grep -lzx "${MARK_VARIABLE}=\${each#*:}" /proc/[0-9]*/environ); do
      file=\${file#/proc/}
      kill -s "$1" "\${file%/environ}"
    done
  done
}
end TERM
sleep 2
end KILL
`;

/**
 * Ends agents' processes if this process ends before it has ended them, even by `kill -9`. A shell watches while there
 * is an agent; where there is no shell, nothing is guarded.
 */
export class OrphanGuard {
  /** `GROUP MARK` of each. */
  readonly #agents = new Set<string>();
  #shell: ChildProcess | undefined;

  /**
   * Starts a process with this mark. The watch begins before it runs, because this process may be killed at any moment,
   * and ends with the call of `release`.
   */
  async start<T extends { readonly pid: number }>(
    mark: string,
    start: () => Promise<T>,
  ): Promise<{ readonly process: T; readonly release: () => void }> {
    const release = this.#watch(NO_GROUP, mark);
    try {
      const process = await start();
      return { process, release: this.watch(process.pid, mark) };
    } finally {
      release();
    }
  }

  /** Watches the group with this id and the processes with this mark. Returns a function that ends the watch. */
  watch(group: number, mark: string): () => void {
    return this.#watch(String(group), mark);
  }

  #watch(group: string, mark: string): () => void {
    const agent = `${group} ${mark}`;
    this.#agents.add(agent);
    if (this.#shell === undefined) this.#start();
    else this.#tell(`+ ${agent}`);
    return () => {
      if (this.#agents.delete(agent)) this.#tell(`- ${agent}`);
      if (this.#agents.size === 0) this.#end();
    };
  }

  #start(): void {
    const shell: ChildProcess = spawn("/bin/sh", ["-c", SCRIPT, "gt-agent-guard"], {
      env: { PATH: "/usr/bin:/bin" },
      stdio: ["pipe", "ignore", "ignore"],
      detached: true, // a signal to this process's group must not reach it
    });
    const forget = () => {
      if (this.#shell === shell) this.#shell = undefined;
    };
    shell.on("error", forget);
    shell.once("exit", forget);
    shell.stdin?.on("error", forget); // there is no pipe if the process has no descriptor left
    this.#shell = shell;
    for (const agent of this.#agents) this.#tell(`+ ${agent}`);
  }

  #tell(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`);
  }

  #end(): void {
    this.#shell?.stdin?.end();
    this.#shell = undefined;
  }
}
