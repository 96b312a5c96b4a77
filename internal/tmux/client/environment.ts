import type { Environment } from "../../base/environment.ts";

/** The environment without tmux's variables (`TMUX`, `TMUX_PANE`, `TMUX_TMPDIR`, …), which name a server. */
export function withoutTmux(env: Environment): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !name.startsWith("TMUX")) kept[name] = value;
  }
  return kept;
}
