import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { type CommandScene, comparableScenes, recordSession } from "../../scripts/pictures/record-session.ts";

const RECORDING = new URL("../../docs/pictures/session.json", import.meta.url);

it("the picture in the README shows what the commands print today", async () => {
  const recorded = JSON.parse(await readFile(RECORDING, "utf8")) as readonly CommandScene[];
  expect(comparableScenes(await recordSession())).toEqual(comparableScenes(recorded));
});
