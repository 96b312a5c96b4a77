import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { RecordedScreen } from "./screen-from-ansi.ts";

const run = promisify(execFile);

/** The title counts only if the program has set one; tmux starts with the host's name. */
const FACTS =
  "#{cursor_x} #{cursor_y} #{pane_width} #{pane_height} #{alternate_on} #{?#{==:#{pane_title},#{host}},,#{pane_title}}";

/** The present screen of a pane, captured in one step of the tmux server. */
export async function recordPane(socket: string, target: string): Promise<RecordedScreen> {
  const both = ["display-message", "-p", "-t", target, FACTS, ";", "capture-pane", "-p", "-e", "-t", target];
  const { stdout } = await run("tmux", ["-u", "-S", socket, ...both], { maxBuffer: 64 << 20 });
  const [facts = "", ...shown] = stdout.split("\n");
  const [cursorX = 0, cursorY = 0, cols = 80, rows = 24, alternate = 0] = facts.split(" ", 5).map(Number);
  const title = facts.split(" ").slice(5).join(" ");
  return { ansi: shown.slice(0, rows).join("\r\n"), cols, rows, cursorX, cursorY, alternate: alternate === 1, title };
}
