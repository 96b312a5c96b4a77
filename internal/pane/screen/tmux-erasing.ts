import { act, type Habitual, type Inside, type InsideBuffer, insideOf, inWholeScreen } from "./tmux-inside.ts";

/** A callback that is given a function that moves rows, and must call that function. */
export type Moved = (move: () => void) => void;

/**
 * Makes the emulator move rows into the history as tmux does: the main screen when all of it is erased, and the first
 * row of any region that scrolls. Also, a row that wrapping adds gets no background colour, and no row counts as the
 * continuation of an erased one.
 */
export function learnTmuxErasing(terminal: Habitual, moved: Moved): void {
  const { parser } = terminal;
  const inside = insideOf(terminal);
  const { _inputHandler: handler, _bufferService: screen } = inside;
  const plain = handler._curAttrData.clone();
  const scroll = screen.scroll.bind(screen);
  const hasHistory = () => terminal.buffer.active.type === "normal";
  screen.scroll = (erase, isWrapped) => {
    if (inside.buffer.scrollTop > 0 && hasHistory()) keepFirstRow(inside.buffer);
    scroll(isWrapped === true ? plain : erase, isWrapped);
  };
  parser.registerCsiHandler({ final: "J" }, ([what]) => {
    const { x, y } = inside.buffer;
    const isAll = what === 2 || (what === 0 && x === 0 && y === 0);
    if (isAll && hasHistory()) moved(() => moveUp(inside));
    if (what !== 1 || x < inside.cols - 1) return false; // the emulator erases the rest
    eraseToRowEnd(inside);
    return true;
  });
  parser.registerCsiHandler({ final: "K" }, ([what]) => {
    const { x, y, ybase, lines } = inside.buffer;
    const isAll = what === 2 || (what === 0 && x === 0) || (what === 1 && x >= inside.cols - 1);
    const below = lines.get(ybase + y + 1);
    if (isAll && below !== undefined) below.isWrapped = false; // an erased row has no continuation
    return false;
  });
  parser.registerEscHandler({ final: "c" }, () => {
    handler._curAttrData = plain.clone();
    if (hasHistory()) moved(() => moveUp(inside));
    act(inside, "eraseInDisplay", 2);
    reset(inside);
    return true;
  });
}

/** Keeps a copy of the region's first row at the end of the history. */
function keepFirstRow(buffer: InsideBuffer): void {
  const { lines, ybase, scrollTop } = buffer;
  const first = lines.get(ybase + scrollTop);
  if (first === undefined) return;
  const { isFull } = lines;
  lines.splice(ybase, 0, first.clone());
  if (isFull) return;
  buffer.ybase++;
  buffer.ydisp++;
}

/** Moves the screen's rows, up to the last that is not empty, into the history. */
function moveUp(inside: Inside): void {
  const { buffer, rows, _inputHandler: handler, _bufferService: screen } = inside;
  let used = rows;
  while (used > 0 && (buffer.lines.get(buffer.ybase + used - 1)?.getTrimmedLength() ?? 0) === 0) used--;
  inWholeScreen(inside, () => {
    for (let n = 0; n < used; n++) screen.scroll(handler._eraseAttrData());
  });
}

/**
 * Erases the screen up to the end of the cursor's row. For a whole row, the emulator would change a wrong row instead
 * of the one below, or throw if that does not exist, so the row's last cell is erased separately.
 */
function eraseToRowEnd(inside: Inside): void {
  const { buffer, cols } = inside;
  const { x, y, ybase } = buffer;
  buffer.x = cols - 2;
  act(inside, "eraseInDisplay", 1);
  buffer.x = cols - 1;
  act(inside, "eraseChars", 1);
  buffer.x = x;
  const below = buffer.lines.get(ybase + y + 1);
  if (below !== undefined) below.isWrapped = false;
}

/** Resets the terminal, except which screen it shows, its title and its history. */
function reset({ buffer, rows, coreService, coreMouseService, _charsetService }: Inside): void {
  [buffer.x, buffer.y] = [0, 0];
  [buffer.scrollTop, buffer.scrollBottom] = [0, rows - 1];
  buffer.setupTabStops();
  coreService.reset();
  coreMouseService.reset();
  _charsetService.reset();
}
