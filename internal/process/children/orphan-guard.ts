import { type ChildProcess, spawn } from "node:child_process";
import { MARK_VARIABLE } from "./marked-processes.ts";

/**
 * Reads `+ GROUP MARK` and `- GROUP MARK` until its input ends, and then ends the groups that are left, and what
 * carries their marks. Its input ends when the process that holds the other end does, however that happens.
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
    kill -s "$1" -- "-\${each%:*}"
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
 * Ends the processes of agents when this process ends without having done that, by `kill -9` too. A shell watches
 * while there is an agent to watch; where there is no shell, nothing is guarded.
 */
export class OrphanGuard {
  /** `GROUP MARK` of each. */
  readonly #agents = new Set<string>();
  #shell: ChildProcess | undefined;

  /** Watches the group with this id and what carries this mark. Returns what ends that. */
  watch(group: number, mark: string): () => void {
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
      detached: true, // a signal to this process's group is not for it
    });
    const forget = () => {
      if (this.#shell === shell) this.#shell = undefined;
    };
    shell.on("error", forget);
    shell.once("exit", forget);
    shell.stdin?.on("error", forget); // there is none where the process has no descriptor left
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
