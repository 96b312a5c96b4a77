import { expect, it } from "vitest";
import { type PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { textWidth } from "../../../internal/base/text-width.ts";
import type { AgentStatus } from "../../../internal/session/agent-status.ts";
import type { WatchUpdate } from "../../../internal/session/types.ts";
import { type Watched, watchPicture } from "./watch-picture.ts";

const NOW = 1_000_000;
const watched: Watched = {
  agent: "rig/toast",
  where: "127.0.0.1:9090",
  picture: { output: "one\n\tt\x1b]0;x\x07wo", alive: true } as WatchUpdate,
  status: { state: "idle", stateSince: NOW - 2500, queueDepth: 2 } as AgentStatus,
  lost: "",
  remark: "",
};

function shown(change: Partial<Watched>, columns = 80, room = 10): readonly string[] {
  const paint = (_: string, text: string | PrintableText) => printable`${text}`;
  return watchPicture({ ...watched, ...change }, { columns, room, ansi: false, paint, now: NOW }).map(String);
}

it("shows state, queue and place above the terminal's lines, and passes no control sequence", () => {
  expect(shown({})).toEqual(["rig/toast · idle 2.5 s · 2 queued · 127.0.0.1:9090", "one", "    two"]);
  expect(shown({ remark: "connected again" })[0]).toMatch(/9090 · connected again$/);
  expect(shown({ status: undefined })[0]).toBe("rig/toast · … · 127.0.0.1:9090");
  expect(shown({}, 80, 1).slice(1)).toEqual(["    two"]);
});

it("shows no state while the connection is lost, and keeps the picture", () => {
  expect(shown({ lost: "the connection was lost", remark: "cannot be reached" })).toEqual([
    "rig/toast · the connection was lost",
    "one",
    "    two",
  ]);
});

it.each([20, 21, 30, 47])("fits %i columns", (columns) => {
  const wide = { agent: "rig/日本語/toast-of-the-town", picture: { ...watched.picture, output: "日".repeat(40) } };
  for (const change of [wide, { ...wide, lost: "the connection was lost, reconnecting" }]) {
    for (const row of shown(change as Partial<Watched>, columns)) expect(textWidth(row)).toBeLessThanOrEqual(columns);
  }
});
