import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "../eventually.ts";
import { type SandboxOptions, tmuxSandbox } from "./tmux-sandbox.ts";

export const SCREEN = { escapes: false, join: false };
export const ALL = { ...SCREEN, start: "-" } as const;
/** A pane whose program prints `setup` to its terminal, and then writes every byte of its input to a file. */
export async function receiver(setup = "", options: SandboxOptions = {}) {
  const script = `stty raw -echo; printf '${setup}ready'; exec cat > "$OUT"`;
  const sandbox = await tmuxSandbox({ ...options, argv: ["sh", "-c", script], env: { OUT: "received" } });
  await eventually("the receiver", async () => (await sandbox.pane.capture(SCREEN)).includes("ready"));
  const received = () => readFile(join(sandbox.dir, "received"), "utf8").catch(() => "");
  const receives = (text: string) => eventually("its arrival", async () => (await received()).length >= text.length);
  return { ...sandbox, received, receives };
}

/**
 * A pane whose command printed `shown` and ended. The command ends only once the text is on the screen: tmux can lose
 * the last output of a command that exits at once.
 */
export async function deadPane(shown = "last words", end = "exit 7") {
  const box = await tmuxSandbox({ argv: ["sh", "-c", `stty -echo; printf '${shown}'; read go; ${end}`] });
  await eventually("its words", async () => (await box.pane.capture(SCREEN)).trim() !== "");
  await box.pane.enter();
  await eventually("its end", async () => (await box.pane.facts()).dead);
  return box;
}

/** Payloads that other senders have lost or mangled. */
export const PAYLOADS: readonly (readonly [string, string])[] = [
  ["short", "hello"],
  ["1 KB", "0123456789abcdef".repeat(64)],
  ["5 lines, one blank, one indented", "one\n\n  three\nfour\nfive"],
  ["4 KB", "lorem ipsum ".repeat(341)],
  ["64 KiB", "0123456789abcde\n".repeat(4096)],
  ["wide characters", "漢字かな混じり文"],
  ["emoji, flags, combining marks", "👨‍👩‍👧 🇩🇪 e\u0301 a\u0308"],
  ["what others expand", "$HOME ~ #{pane_id} \"…\" '…' \\ {x} %if $(id) `id`"],
  ["last ;", "a;"],
  ["; alone", ";"],
  ["first -", "-R -o x"],
  ["tabs", "\ta\tb"],
  ["trailing newline", "a\n"],
  ["last \\", "a\\"],
  ["first /", "/exit"],
  ["first !", "!id"],
  ["first #", "# x"],
  ["@file", "@file"],
  ["ESC, BEL, BS, DEL", "\x1b[A\x07\b\x7f"],
  ["an end of paste inside", "a\x1b[201~\rb"],
];
