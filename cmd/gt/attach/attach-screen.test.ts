import { expect, it } from "vitest";
import { AttachScreen } from "./attach-screen.ts";

it("shows each row once after the window became narrower than the wrapped lines", async () => {
  const screen = new AttachScreen(30, 9);
  await screen.write(Buffer.from(`${"x".repeat(82)}\x1b[8;1Hlast`));
  screen.resize(20, 9);
  const rows = Array.from({ length: 9 }, (_, y) => screen.row(y, 0, 20).text);
  expect(rows.filter((row) => row === "last")).toHaveLength(1);
  expect(rows.join("").replace("last", "").length).toBeLessThanOrEqual(82);
  expect(rows.indexOf("last")).toBe(screen.cursor.y);
});
