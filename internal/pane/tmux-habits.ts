import type { IBuffer, IParser } from "@xterm/headless";

/** The part of the emulator's terminal that is needed. */
interface Habitual {
  readonly parser: IParser;
  readonly buffer: { readonly active: IBuffer };
}

/** What of the emulator's inside is needed: its public side cannot move a cursor. */
interface Inside {
  readonly _core?: {
    readonly buffer: { x: number };
    readonly _inputHandler: {
      insertLines(params: { readonly params: readonly number[] }): boolean;
      deleteLines(params: { readonly params: readonly number[] }): boolean;
    };
  };
}

/**
 * Makes the emulator do as tmux does where the two read a sequence differently: inserting and deleting lines leaves the
 * cursor in its column, leaving an alternate screen that is not on moves nothing, and links are not shown as underlined.
 */
export function learnTmuxHabits(terminal: Habitual): void {
  const { parser } = terminal;
  const core = (terminal as unknown as Inside)._core;
  const inColumn = (act: "insertLines" | "deleteLines") => (params: readonly (number | number[])[]) => {
    if (core === undefined) return false;
    const { x } = core.buffer;
    core._inputHandler[act]({ params: params.map((param) => (typeof param === "number" ? param : 0)) });
    core.buffer.x = x;
    return true;
  };
  parser.registerCsiHandler({ final: "L" }, inColumn("insertLines"));
  parser.registerCsiHandler({ final: "M" }, inColumn("deleteLines"));
  const isOff = () => terminal.buffer.active.type === "normal";
  parser.registerCsiHandler({ prefix: "?", final: "l" }, ([mode, ...more]) => {
    return more.length === 0 && isOff() && (mode === 47 || mode === 1047 || mode === 1049);
  });
  parser.registerOscHandler(8, () => true);
}
