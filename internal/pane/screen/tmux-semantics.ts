import { learnTmuxErasing, type Moved } from "./tmux-erasing.ts";
import { act, count, type Habitual, insideOf, inWholeScreen, numbersOf, withoutOrigin } from "./tmux-inside.ts";
import { learnTmuxSaving } from "./tmux-saving.ts";

/**
 * Makes the emulator behave like tmux where the two interpret a sequence differently. Calls `moved` with the function
 * that moves the rows of an erased screen into the history.
 */
export function applyTmuxSemantics(terminal: Habitual, moved: Moved = (move) => move()): void {
  learnLastColumn(terminal);
  learnMoves(terminal);
  learnEdits(terminal);
  learnTmuxErasing(terminal, moved);
  learnTmuxSaving(terminal);
  // Ignores links, which the emulator would underline.
  terminal.parser.registerOscHandler(8, () => true);
}

/**
 * A cursor past the last column stays there when a line feed or an index moves it to another row, and a backspace moves
 * it to the last column. Without automatic wrap, the cursor stops at the last column.
 */
function learnLastColumn(terminal: Habitual): void {
  const inside = insideOf(terminal);
  const { _inputHandler: handler } = inside;
  for (const name of ["lineFeed", "index", "reverseIndex"] as const) {
    const go = handler[name].bind(handler);
    handler[name] = () => {
      const { x } = inside.buffer;
      if (x < inside.cols && !inside.coreService.decPrivateModes.origin) return go();
      withoutOrigin(inside, go);
      inside.buffer.x = x;
      return true;
    };
  }
  const back = handler.backspace.bind(handler);
  handler.backspace = () => {
    const { buffer } = inside;
    const { x, y, ybase } = buffer;
    const isContinued = x === 0 && y > 0 && buffer.lines.get(ybase + y)?.isWrapped === true;
    if (x < inside.cols && !isContinued) return back();
    if (isContinued) buffer.y--;
    buffer.x = inside.cols - 1;
    return true;
  };
  const print = handler.print.bind(handler);
  handler.print = (data, start, end) => {
    print(data, start, end);
    if (!inside.coreService.decPrivateModes.wraparound) inside.buffer.x = Math.min(inside.buffer.x, inside.cols - 1);
  };
}

/** In origin mode, only absolute positions are relative to the scroll region; relative moves are not limited to it. */
function learnMoves(terminal: Habitual): void {
  const { parser } = terminal;
  const inside = insideOf(terminal);
  const { _inputHandler: handler } = inside;
  const move = handler._moveCursor.bind(handler);
  handler._moveCursor = (x, y) => {
    if (x < 0) inside.buffer.x = Math.max(0, inside.buffer.x + x);
    else withoutOrigin(inside, () => move(x, y));
  };
  const toColumn = (params: readonly (number | number[])[]) => {
    inside.buffer.x = Math.min(count(params), inside.cols) - 1;
    return true;
  };
  parser.registerCsiHandler({ final: "G" }, toColumn);
  parser.registerCsiHandler({ final: "`" }, toColumn);
  parser.registerCsiHandler({ final: "d" }, (params) => {
    const { buffer, rows, coreService } = inside;
    const [top, bottom] = coreService.decPrivateModes.origin ? [buffer.scrollTop, buffer.scrollBottom] : [0, rows - 1];
    buffer.y = Math.min(top + count(params) - 1, bottom);
    return true;
  });
  parser.registerCsiHandler({ final: "r" }, (params) => {
    withoutOrigin(inside, () => act(inside, "setScrollRegion", ...numbersOf(params)));
    return true;
  });
  // Limits the count: the emulator repeats the move as often as the sequence says, even without another tab stop.
  for (const [final, name] of [
    ["I", "cursorForwardTab"],
    ["Z", "cursorBackwardTab"],
  ] as const) {
    parser.registerCsiHandler({ final }, (params) => {
      act(inside, name, Math.min(count(params), inside.cols));
      return true;
    });
  }
  // tmux ignores these sequences.
  for (const final of ["a", "e"]) parser.registerCsiHandler({ final }, () => true);
}

/**
 * Inserting and deleting lines leaves the cursor in its column. If the cursor is outside the scroll region, all rows
 * down to the end of the screen are affected.
 */
function learnEdits(terminal: Habitual): void {
  const { parser } = terminal;
  const inside = insideOf(terminal);
  const { _inputHandler: handler, _bufferService: screen } = inside;
  const regionRows = () => inside.buffer.scrollBottom - inside.buffer.scrollTop + 1;
  const isAtEnd = () => inside.buffer.x >= inside.cols;
  const lines = (name: "insertLines" | "deleteLines") => (params: readonly (number | number[])[]) => {
    const { buffer } = inside;
    const { x, y, scrollTop, scrollBottom } = buffer;
    const edit = () => act(inside, name, Math.min(count(params), inside.rows));
    if (y < scrollTop || y > scrollBottom) inWholeScreen(inside, edit);
    else edit();
    buffer.x = x;
    return true;
  };
  parser.registerCsiHandler({ final: "L" }, lines("insertLines"));
  parser.registerCsiHandler({ final: "M" }, lines("deleteLines"));
  // Past the last column these sequences do nothing, and the next character still wraps.
  for (const final of ["@", "P", "X"]) parser.registerCsiHandler({ final }, isAtEnd);
  parser.registerCsiHandler({ final: "S" }, (params) => {
    for (let n = Math.min(count(params), regionRows()); n > 0; n--) screen.scroll(handler._eraseAttrData());
    return true;
  });
  parser.registerCsiHandler({ final: "T" }, (params) => {
    const { buffer } = inside;
    const { x, y } = buffer;
    buffer.y = buffer.scrollTop;
    for (let n = Math.min(count(params), regionRows()); n > 0; n--) handler.reverseIndex();
    [buffer.x, buffer.y] = [x, y];
    return true;
  });
  // tmux repeats only within the row, and only a character that is sent as one byte, as line-drawing characters are.
  parser.registerCsiHandler({ final: "b" }, (params) => {
    const { x, y, ybase, lines: all } = inside.buffer;
    const last = x === 0 ? "" : (all.get(ybase + y)?.getString(x - 1) ?? "");
    const times = Math.min(count(params), inside.cols - x);
    if (times > 0 && /^[\x20-\x7e\u2300-\u25ff°±·£π≠≤≥]$/.test(last)) act(inside, "repeatPrecedingCharacter", times);
    return true;
  });
}
