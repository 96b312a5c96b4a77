import { describe, expect, it } from "vitest";
import { serverConfig } from "./server-config.ts";

const agent = { argv: ["claude"] as const, env: {}, unsetEnv: [], cwd: "/w" };
const text = serverConfig({ session: "claude", cols: 160, rows: 50, historyLimit: 20_000, agent });
const lines = text.trimEnd().split("\n");

describe("serverConfig", () => {
  it("sets the options that a pane keeps from its start before the pane is created", () => {
    const pane = lines.findIndex((line) => line.startsWith("new-session"));
    for (const option of ["history-limit 20000", "remain-on-exit on", "default-terminal tmux-256color", "@gt-cwd"]) {
      const at = lines.findIndex((line) => line.includes(option));
      expect(at, option).toBeGreaterThanOrEqual(0);
      expect(at, option).toBeLessThan(pane);
    }
  });

  it("starts the agent in the only window of the only session, with the requested size", () => {
    expect(text).toMatch(/^new-session -d -s "claude" -n agent -x 160 -y 50 -c .* "claude"$/m);
  });

  it("fixes the size of that window alone: a global manual size crashes tmux", () => {
    expect(text).toContain('resize-window -t "=claude:" -x 160 -y 50');
    expect(text).not.toContain("window-size");
  });

  it("gives the attached person no prefix key, and takes nothing from their environment", () => {
    expect(lines).toContain("set -g prefix None");
    expect(lines).toContain("set -g update-environment ''");
  });
});
