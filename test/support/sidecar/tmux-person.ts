import { spawn as spawnPty } from "@lydell/node-pty";
import { until } from "./sidecar.ts";

const WAIT_MS = 120_000;

/** A person's terminal that is attached to a sidecar's agent with tmux alone. */
export interface TmuxPerson extends Disposable {
  type(keys: string): void;
  /** Resolves once the text is on the screen. */
  sees(text: string): Promise<unknown>;
}

/** `flags` of `tmux attach-session`: `-r` only looks. */
export function tmuxPerson(stateDir: string, ...flags: string[]): TmuxPerson {
  const args = ["-N", "-u", "-S", `${stateDir}/tmux.sock`, "attach-session", ...flags];
  const pty = spawnPty("tmux", args, { cols: 100, rows: 30, env: { ...process.env, TMUX: "" } });
  let shown = "";
  pty.onData((data: string) => {
    shown += data;
  });
  return {
    type: (keys) => pty.write(keys),
    sees: (text) => until(text, WAIT_MS, () => Promise.resolve(shown.includes(text) || undefined)),
    [Symbol.dispose]: () => pty.kill(),
  };
}
