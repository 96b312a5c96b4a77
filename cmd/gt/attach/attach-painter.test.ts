import xterm from "@xterm/headless";
import { describe, expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { AttachPainter, ENTER, LEAVE } from "./attach-painter.ts";
import { AttachScreen } from "./attach-screen.ts";

/** A person's terminal that shows and records its input. */
class Shown {
  readonly terminal: InstanceType<typeof xterm.Terminal>;
  written = "";
  columns: number;
  rows: number;
  title = "";

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
    this.terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, logLevel: "off" });
    this.terminal.onTitleChange((title) => {
      this.title = title;
    });
  }

  write(text: string): void {
    this.written += text;
    this.terminal.write(text);
  }

  async lines(): Promise<readonly string[]> {
    await new Promise<void>((resolve) => this.terminal.write("", resolve));
    const { active } = this.terminal.buffer;
    return Array.from({ length: this.rows }, (_, y) =>
      (active.getLine(active.baseY + y)?.translateToString() ?? "").trimEnd(),
    );
  }

  get cursor(): readonly number[] {
    const { cursorX, cursorY } = this.terminal.buffer.active;
    return [cursorX, cursorY];
  }
}

async function setUp(text: string, size: Partial<Record<"cols" | "rows" | "columns" | "lines", number>> = {}) {
  const { cols = 20, rows = 5 } = size;
  const { columns = cols, lines = rows } = size;
  const screen = new AttachScreen(cols, rows);
  const shown = new Shown(columns, lines);
  const painter = new AttachPainter(shown);
  const print = async (more: string) => {
    await screen.write(Buffer.from(more));
    painter.paint(screen);
  };
  await print(text);
  return { screen, shown, painter, print };
}

describe("a window of the terminal's size", () => {
  it("is shown as it is, with its cursor", async () => {
    const { shown } = await setUp("one\r\n\r\n  three");
    expect(await shown.lines()).toEqual(["one", "", "  three", "", ""]);
    expect(shown.cursor).toEqual([7, 2]);
  });

  it("keeps colours and styling, and ends them where they end", async () => {
    const { shown } = await setUp("\x1b[1;31mred\x1b[m \x1b[48;2;1;2;3mdeep\x1b[m \x1b[38;5;200mpink\x1b[4;9m!");
    await shown.lines();
    const cell = (x: number) => shown.terminal.buffer.active.getLine(0)?.getCell(x);
    expect([cell(0)?.getFgColor(), cell(0)?.isBold() !== 0]).toEqual([1, true]);
    expect(cell(3)?.isAttributeDefault()).toBe(true);
    expect(cell(4)?.getBgColor()).toBe(0x010203);
    expect(cell(9)?.getFgColor()).toBe(200);
    expect(cell(13)?.isUnderline() !== 0 && cell(13)?.isStrikethrough() !== 0).toBe(true);
  });

  it("is drawn again only where it changed", async () => {
    const { shown, print } = await setUp("first\r\nsecond\r\n");
    shown.written = "";
    await print("third");
    expect(shown.written).toContain("third");
    expect(shown.written).not.toMatch(/first|second/);
    shown.written = "";
    await print("\x1b[2;3H");
    expect(shown.written).toBe("\x1b[2;3H\x1b[?25h");
  });

  it("keeps wide characters in their columns, also on a terminal that draws them narrow", async () => {
    const { shown } = await setUp("日本|é|\r\n👩‍👩‍👧|");
    const lines = await shown.lines();
    expect(lines[0]).toBe("日本|é|");
    expect(shown.terminal.buffer.active.getLine(1)?.getCell(2)?.getChars()).toBe("|");
    expect(shown.written).toMatch(/日\x1b\[3G本\x1b\[5G\|/);
  });

  it("leaves no remains where a terminal draws wide characters narrow", async () => {
    const { shown, print } = await setUp("abcdefgh");
    await print("\x1b[H\x1b[K😀");
    expect(await shown.lines()).toEqual(["😀", "", "", "", ""]);
  });

  it("uses its last column and row without scrolling", async () => {
    const { shown } = await setUp(`${"x".repeat(20)}\x1b[5;1H${"y".repeat(20)}`);
    const lines = await shown.lines();
    expect([lines[0], lines[4]]).toEqual(["x".repeat(20), "y".repeat(20)]);
  });

  it("shows blanks in place of concealed text", async () => {
    const { shown } = await setUp("a\x1b[8mhidden\x1b[mb");
    expect((await shown.lines())[0]).toBe("a      b");
    expect(shown.written).not.toContain("hidden");
  });
});

describe("a window of another size", () => {
  it("that is larger is shown around its cursor, and the view moves no further than necessary", async () => {
    const text = Array.from({ length: 10 }, (_, y) => `${y} 3456789012345678901234567`).join("\r\n");
    const { shown, painter, print } = await setUp(text, { cols: 30, rows: 10, columns: 10, lines: 4 });
    expect(painter.viewport).toEqual({ x: 18, y: 6 });
    expect(await shown.lines()).toEqual(Array.from({ length: 4 }, () => "901234567"));
    await print("\x1b[8;25H");
    expect(painter.viewport).toEqual({ x: 18, y: 6 });
    await print("\x1b[1;1H");
    expect(painter.viewport).toEqual({ x: 0, y: 0 });
    expect(await shown.lines()).toEqual(["0 34567890", "1 34567890", "2 34567890", "3 34567890"]);
  });

  it("that is larger shows blanks for a wide character that is cut", async () => {
    const { shown } = await setUp("日本日本\x1b[1;2H", { cols: 8, rows: 2, columns: 5, lines: 2 });
    expect((await shown.lines())[0]).toBe("日本");
  });

  it("that is smaller is drawn with a border", async () => {
    const { shown } = await setUp("text", { cols: 6, rows: 2, columns: 10, lines: 5 });
    expect(await shown.lines()).toEqual(["text  │", "      │", "──────┘", "", ""]);
  });

  it("is drawn whole when the terminal's size changes", async () => {
    const { shown, painter, screen } = await setUp("text", { cols: 6, rows: 2, columns: 10, lines: 5 });
    shown.columns = 6;
    shown.rows = 2;
    shown.terminal.resize(6, 2);
    painter.paint(screen);
    expect(await shown.lines()).toEqual(["text", ""]);
  });
});

describe("a notice line", () => {
  it("is drawn on the last row, on the first row while the cursor is on the last, and disappears without a trace", async () => {
    const { shown, painter, screen, print } = await setUp("top\x1b[5;1Hbottom\x1b[1;1H");
    painter.paint(screen, "notice");
    expect(await shown.lines()).toEqual(["top", "", "", "", " notice"]);
    await print("\x1b[5;3H");
    painter.paint(screen, "a notice that is far too long");
    expect(await shown.lines()).toEqual([" a notice that is f…", "", "", "", "bottom"]);
    painter.paint(screen);
    expect(await shown.lines()).toEqual(["top", "", "", "", "bottom"]);
  });

  it("is plain text, whatever it contains", async () => {
    const { shown, painter, screen } = await setUp("");
    painter.paint(screen, "\x1b]0;x\x07\x1b[2Jname");
    expect((await shown.lines())[4]).toBe(" name");
  });
});

describe("requests of a program to the terminal", () => {
  it("are passed on once, and undone on a reset: mouse, keys, cursor, title, bell", async () => {
    const { shown, print } = await setUp("");
    shown.written = "";
    await print("\x1b[?1002h\x1b[?1006h\x1b[?1h\x1b=\x1b[4 q\x1b[?25l\x1b]2;a title\x07\x07");
    await shown.lines();
    const { modes } = shown.terminal;
    expect([modes.mouseTrackingMode, modes.applicationCursorKeysMode, modes.applicationKeypadMode]).toEqual([
      "drag",
      true,
      true,
    ]);
    expect(shown.title).toBe("a title");
    expect(shown.written.match(/\x07/g)).toHaveLength(1);
    expect(shown.written).toContain("\x1b[4 q");
    expect(shown.written.endsWith("\x1b[?25l\x07")).toBe(true);
    shown.written = "";
    await print("x");
    expect(shown.written).not.toContain("1002");
    await print("\x1bc");
    await shown.lines();
    expect(shown.terminal.modes.mouseTrackingMode).toBe("none");
    expect(shown.written.lastIndexOf("\x1b[?25h")).toBeGreaterThan(shown.written.lastIndexOf("\x1b[?25l"));
  });

  it("are all undone when the person leaves", async () => {
    const { shown } = await setUp("");
    shown.write(ENTER);
    const before = shown.written.length;
    await new Promise<void>((resolve) => shown.terminal.write("", resolve));
    expect(shown.terminal.buffer.active.type).toBe("alternate");
    shown.write("\x1b[?1003h\x1b[?1006h\x1b[?1h\x1b=\x1b[?25l\x1b[2 q\x1b[31m");
    shown.write(LEAVE);
    await shown.lines();
    const { modes, buffer } = shown.terminal;
    expect(buffer.active.type).toBe("normal");
    expect(modes).toMatchObject({
      mouseTrackingMode: "none",
      bracketedPasteMode: false,
      applicationCursorKeysMode: false,
      applicationKeypadMode: false,
      wraparoundMode: true,
    });
    expect(shown.written.slice(before)).toContain("\x1b[?25h");
  });
});

/** Every sequence beside text that may be written to a person's terminal. */
const ALLOWED =
  /\x1b\[\d+;\d+H|\x1b\[\d+G|\x1b\[[\d;]*m|\x1b\[2?K|\x1b\[H|\x1b\[2J|\x1b\[\?(?:1|25|1000|1002|1003|1006|2026)[hl]|\x1b[=>]|\x1b\[[0-6] q|\x1b\]2;[^\x00-\x1f\x7f-\x9f]*\x1b\\|\x07/g;

describe("a hostile program", () => {
  const hostile = fc.constantFrom(
    ..."\x1b]52;c;eA==\x07|\x1b[c|\x1b[>c|\x1b[6n|\x1b[?2004h|\x1b[?1004h|\x1b]10;?\x07|\x1bP$qm\x1b\\|\x1bPq#0;2;0;0;0~\x1b\\|\x1b]8;;http://x\x07".split(
      "|",
    ),
    ..."\x1b[>1u|\x1b[>4;2m|\x1bktitle\x1b\\|\x1b[21t|\x1b[8;5;5t|\x1b#8|\x1b[20h|\x1b[?3h|\x1b[?47h|\x1b[?1049h|\x9b31m|\x1b]2;t\x07|\x1b]9;n\x07|\x1b^x\x1b\\|\x1b_x\x1b\\|\x1b[i|\x1b[5i|\x1b(0|\x0e|\x0f".split(
      "|",
    ),
    "日",
    "a\u0301",
    "\u202e",
    "\ufeff",
    "\r\n",
    "\t",
    "\b",
    "\x00",
    "\x7f",
    "\x85",
    "text",
    "\x1b[31m",
    "\x1b[7m",
    "\x1b[?1003h",
    "\x1b[5 q",
    "\x1b",
    "[",
    "%exit",
  );

  it("sends nothing to a person's terminal but text, styling, the cursor and the listed modes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostile, { minLength: 1, maxLength: 30 }), async (parts) => {
        const { shown } = await setUp(parts.join(""), { cols: 20, rows: 5, columns: 13, lines: 4 });
        const rest = shown.written.replace(ALLOWED, "");
        expect(rest).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
      }),
      { numRuns: 60 },
    );
  });
});
