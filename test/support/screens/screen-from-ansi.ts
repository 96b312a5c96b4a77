import type { Screen } from "../../../internal/agents/screen.ts";
import { Emulator } from "../../../internal/pane/screen/emulator.ts";

/** A terminal's screen from `tmux capture-pane -e`, with the facts that a capture lacks. */
export interface RecordedScreen {
  /** The rows, styled, joined by CR LF. */
  readonly ansi: string;
  readonly cols: number;
  readonly rows: number;
  readonly cursorX: number;
  readonly cursorY: number;
  readonly alternate: boolean;
  readonly title: string;
}

const drawn = new WeakMap<RecordedScreen, Promise<Screen>>();

/** The screen as data, drawn once by the same emulator that the product uses. */
export function screenFromRecording(recording: RecordedScreen): Promise<Screen> {
  const screen = drawn.get(recording) ?? draw(recording);
  drawn.set(recording, screen);
  return screen;
}

async function draw(recording: RecordedScreen): Promise<Screen> {
  const emulator = new Emulator({ cols: recording.cols, rows: recording.rows, scrollback: 0 });
  const open = `${recording.alternate ? "\x1b[?1049h" : ""}\x1b]0;${recording.title}\x07`;
  // Without autowrap a row that fills the width does not push the next one down.
  await emulator.write(
    `${open}\x1b[?7l${recording.ansi}\x1b[?7h\x1b[${recording.cursorY + 1};${recording.cursorX + 1}H`,
  );
  return emulator.screen();
}
