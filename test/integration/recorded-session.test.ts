import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { EventType } from "../../internal/gen/gastown/v1/common_pb.ts";
import { abortOnExit } from "../../internal/rpc/client/transport.ts";
import { startSidecar, until } from "../support/sidecar/sidecar.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** Claude Code 2.1.330 prints 160 numbered items in four answers; it redraws its rows and wraps the longer ones. */
const RECORDING = here("../testdata/sessions/claude-2.1.330.cast");
const ITEMS = 160;
const nameOf = (n: number) => `item-${String(n).padStart(4, "0")}`;
const itemOf = (n: number) =>
  [nameOf(n), ...Array.from({ length: (n % 5) * 3 }, (_, i) => `${n}${"abcdefghij"[i % 10]}${i}`)].join(" ");

it("the events of a recorded session of Claude Code contain each line once, whole and in order", async () => {
  const { width, height } = JSON.parse(readFileSync(RECORDING, "utf8").split("\n", 1)[0] ?? "");
  await using sidecar = await startSidecar({
    agent: "claude",
    command: [process.execPath, here("../fakes/recorded-session-main.ts"), RECORDING, "60"],
    flags: ["--cols", String(width), "--rows", String(height)],
  });
  let told = "";
  const leave = new AbortController();
  const reading = (async () => {
    for await (const event of abortOnExit((signal) => sidecar.client.streamEvents({}, { signal }), leave.signal))
      if (event.type === EventType.STDOUT) told += event.text;
  })().catch(() => {});
  await until("the last line", 30_000, () => told.includes(itemOf(ITEMS - 1)) || undefined);
  leave.abort();
  await reading;
  const lines = told.split("\n").filter((line) => line.includes("item-"));
  expect(lines.map((line) => line.replace(/^.*?(?=item-)/, ""))).toEqual(
    Array.from({ length: ITEMS }, (_, n) => itemOf(n)),
  );
});
