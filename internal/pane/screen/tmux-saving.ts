import { act, type Habitual, type Inside, insideOf, numbersOf, type Pen } from "./tmux-inside.ts";

interface Place {
  readonly x: number;
  readonly y: number;
  readonly pen: Pen;
}

const SCREENS: ReadonlySet<number> = new Set([47, 1047, 1049]);
const WITH_CURSOR = 1049;

/**
 * Makes the emulator save and restore as tmux does: one saved cursor for both screens, with style, character sets and
 * origin mode, and another that belongs to the alternate screen and is restored even when the alternate screen is not
 * on. Both screens scroll the same rows and have the same tab stops.
 */
export function learnTmuxSaving(terminal: Habitual): void {
  learnCursor(terminal);
  learnScreens(terminal);
}

function learnCursor(terminal: Habitual): void {
  const { parser } = terminal;
  const inside = insideOf(terminal);
  const fresh = saved(inside);
  let kept = fresh;
  const save = () => {
    kept = saved(inside);
    return true;
  };
  const restore = () => {
    restored(inside, kept);
    return true;
  };
  parser.registerEscHandler({ final: "7" }, save);
  parser.registerEscHandler({ final: "8" }, restore);
  parser.registerCsiHandler({ final: "s" }, save);
  parser.registerCsiHandler({ final: "u" }, restore);
  parser.registerEscHandler({ final: "c" }, () => {
    kept = { ...fresh, origin: kept.origin };
    return false;
  });
}

function saved(inside: Inside) {
  const { buffer, coreService, _charsetService: charsets, _inputHandler: handler } = inside;
  return {
    x: buffer.x,
    y: buffer.y,
    pen: handler._curAttrData.clone(),
    origin: coreService.decPrivateModes.origin,
    level: charsets.glevel,
    charsets: [0, 1].map((g) => charsets._charsets[g]),
  };
}

function restored(inside: Inside, kept: ReturnType<typeof saved>): void {
  const { coreService, _charsetService: charsets } = inside;
  coreService.decPrivateModes.origin = kept.origin;
  for (const [g, charset] of kept.charsets.entries()) charsets.setgCharset(g, charset);
  charsets.setgLevel(kept.level);
  place(inside, kept);
}

function place(inside: Inside, { x, y, pen }: Place): void {
  const { buffer, cols, rows, _inputHandler: handler } = inside;
  [buffer.x, buffer.y] = [Math.min(x, cols - 1), Math.min(y, rows - 1)];
  handler._curAttrData = pen.clone();
}

function learnScreens(terminal: Habitual): void {
  const { parser } = terminal;
  const inside = insideOf(terminal);
  const { _inputHandler: handler } = inside;
  const plain = handler._curAttrData.clone();
  const isAlternate = () => terminal.buffer.active.type === "alternate";
  let kept: (Place & { readonly cols: number; readonly rows: number }) | undefined;
  const turn = (on: boolean, mode: number) => {
    const { x, y, scrollTop, scrollBottom, tabs } = inside.buffer;
    const pen = handler._curAttrData;
    const { cursorX, cursorY } = terminal.buffer.normal;
    if (on && isAlternate()) return;
    if (on && mode === WITH_CURSOR) kept = { x, y, pen: pen.clone(), cols: inside.cols, rows: inside.rows };
    if (on !== isAlternate()) {
      handler._curAttrData = plain; // a new screen has no colour
      act(inside, on ? "setModePrivate" : "resetModePrivate", 1047);
      handler._curAttrData = pen;
      Object.assign(inside.buffer, { scrollTop, scrollBottom, tabs });
    }
    if (on || mode !== WITH_CURSOR || kept === undefined) return;
    const isResized = kept.cols !== inside.cols || kept.rows !== inside.rows;
    // The main screen's cursor has moved with its rows meanwhile.
    place(inside, isResized ? { ...kept, x: cursorX, y: cursorY } : kept);
  };
  const handle = (on: boolean) => (params: readonly (number | number[])[]) => {
    const modes = numbersOf(params);
    if (!modes.some((mode) => SCREENS.has(mode))) return false;
    for (const mode of modes) {
      if (SCREENS.has(mode)) turn(on, mode);
      else act(inside, on ? "setModePrivate" : "resetModePrivate", mode);
    }
    return true;
  };
  parser.registerCsiHandler({ prefix: "?", final: "h" }, handle(true));
  parser.registerCsiHandler({ prefix: "?", final: "l" }, handle(false));
}
