import { describe, expect, it } from "vitest";
import {
  captureLine,
  checkBufferName,
  checkPaneId,
  enterLine,
  pasteLine,
  pipeLine,
  saveLine,
} from "./pane-commands.ts";

describe("pasteLine", () => {
  it("checks the pane and pastes in one step of the server, after leaving every mode", () => {
    expect(pasteLine("%0", "gt-1")).toBe(
      'if-shell -F -t %0 "#{||:#{||:#{pane_dead},#{pane_input_off}},#{&&:#{pane_synchronized},#{!=:#{window_panes},1}}}" ' +
        '"display-message -p -t %0 \\"#{?#{||:#{pane_dead},#{pane_input_off}},gt-refused,gt-synchronized}\\"" ' +
        '"copy-mode -q -t %0 ; paste-buffer -d -p -r -b gt-1 -t %0 ; display-message -p gt-done"',
    );
  });
});

describe("enterLine", () => {
  it("leaves every mode, as the paste before it, and sends a literal CR", () => {
    const line = enterLine("%0");
    expect(line).toContain("copy-mode -q -t %0 ; ");
    expect(line).toContain('send-keys -t %0 -l -- \\"\\\\r\\"');
  });

  it("reads the cursor in the same step", () => {
    const line = enterLine("%0", { x: 3, y: 7 });
    expect(line).toMatch(/^if-shell -F -t %0 "#\{&&:#\{==:#\{cursor_x\},3\},#\{==:#\{cursor_y\},7\}\}" /);
    expect(line).toMatch(/ "display-message -p gt-moved"$/);
  });
});

describe("pipeLine", () => {
  it("passes any path unchanged through strftime, format and sh", () => {
    const fifo = "'/it'\\\\''s ##1 %%d'";
    expect(pipeLine("%0", "/it's #1 %d")).toBe(`pipe-pane -O -t %0 "test -p ${fifo} && exec cat > ${fifo}"`);
  });
});

describe("captureLine", () => {
  it("captures into a buffer, never with -p", () => {
    expect(captureLine("%0", "b", { start: "-", escapes: true, join: true })).toBe(
      "capture-pane -e -J -S - -b b -t %0",
    );
    expect(captureLine("%0", "b", { start: -5, end: 3, escapes: false, join: false })).toBe(
      "capture-pane -S -5 -E 3 -b b -t %0",
    );
    expect(captureLine("%0", "b", { escapes: false, join: false, savedScreen: true })).toBe(
      "capture-pane -a -q -b b -t %0",
    );
  });
});

describe("saveLine", () => {
  it("prevents the expansion of a path", () => {
    expect(saveLine("b", "/x#{pid}")).toBe('save-buffer -b b "/x##{pid}"');
  });
});

describe("names from outside", () => {
  it.each(["", "a b", "a;b", "ü", "x".repeat(161)])("refuses the buffer name %j", (name) => {
    expect(() => checkBufferName(name)).toThrow(expect.objectContaining({ kind: "invalid" }));
  });

  it.each(["", "0", "%", "%x", "%0;", "claude:"])("refuses the pane id %j", (id) => {
    expect(() => checkPaneId(id)).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});
