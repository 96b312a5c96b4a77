import { spawn } from "node:child_process";
import { once } from "node:events";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { programFile } from "../support/programs.ts";
import { personTerminal } from "../support/sidecar/person-terminal.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(900_000);
const WAIT_MS = 60_000;
const HOSTILE = "\x1b[2J\x1b]0;owned\x07\x1b[31mred \u202eevil\u202c \x9b5n";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

let server: ThreadsServer;
beforeAll(async () => {
  server = await ThreadsServer.start("--runtime", "none");
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

it("gt threads watch shows who waits for whom and why, prints hostile titles as text, and obeys its keys", async () => {
  using tester = server.client("tester", "operator");
  using fixer = server.client("town/fixer");
  const thread = await startThread(tester, `${HOSTILE} title`, ["town/fixer"], LONG);
  await tester.call("post_message", { thread_id: thread, text: `look ${HOSTILE}` }, LONG);
  const { NO_COLOR: _, ...env } = server.env;
  const command = `clear; gt threads watch; echo "code $?"`;
  await using person = personTerminal({ command, env, cols: 80, rows: 24 });
  const sees = (what: string | RegExp | (() => boolean)) => person.sees(what, WAIT_MS);
  await sees("WHO WAITS FOR WHOM");
  await sees(/^tester → town\/fixer .*(is about to be woken|no server wakes it) +red evil/m);
  await sees(/^› t-.* active .*red evil title/m);
  await sees("look red evil");
  expect(person.rows()).toHaveLength(24);
  for (const obeyed of ["\x1b[2J\x1b]", "\x1b]0;", "owned", "\x07", "\x9b"]) expect(person.raw()).not.toContain(obeyed);

  person.type("p");
  await sees("post to");
  person.type("@town/fixer so what");
  await sees("so what▏");
  person.type("\r");
  await sees("posted #2");
  await sees(/→ town\/fixer\n +so what/);
  await fixer.call("post_message", { thread_id: thread, text: "all done", ack_seq: 2 }, LONG);
  await sees("all done");
  await sees(/^town\/fixer → tester .*for you to read/m);
  await sees(() => !/about to be woken|no server wakes it/.test(person.text()));

  person.type("z");
  await sees(/paused, .*#3/);
  person.type("o");
  await sees("REASON>");
  person.type("closed enough");
  person.type("\r");
  await sees(/^› t-.* closed /m);
  person.resize(60, 16);
  await sees(() => person.rows().length === 16 && person.text().includes("WHO WAITS FOR WHOM"));
  person.type("q");
  await sees("code 0");
  const { thread: closed } = await tester.call("get_thread", { thread_id: thread }, LONG);
  expect(closed).toMatchObject({ status: "closed", status_reason: "enough" });
});

it.each([[["--json"]], [[]]])(
  "gt threads watch %j prints a line for each event without a terminal",
  async (flags: readonly string[]) => {
    using tester = server.client("tester", "operator");
    const thread = await startThread(tester, "lines", ["town/other"], LONG);
    const child = spawn(process.execPath, [programFile("gt"), "threads", "watch", ...flags], {
      env: { ...server.env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      let said = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
      // A message that the snapshot already covers is never printed as a line of text, so this posts until one is
      // printed.
      const post = () => tester.call("post_message", { thread_id: thread, text: `news ${HOSTILE}` }, LONG);
      await eventually("a message", async () => (await post()) && said.includes("news"), WAIT_MS);
      await eventually("its wake", () => said.includes("town/other"), WAIT_MS);
      expect(said).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
      if (flags.length === 0) return;
      const updates = () =>
        said
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line) as JsonObject);
      const isWhole = () => {
        const kinds = new Set(updates().flatMap((update) => Object.keys(update)));
        return ["snapshot", "message", "thread", "wake"].every((kind) => kinds.has(kind));
      };
      await eventually("every kind of update", isWhole, WAIT_MS);
      const seqs = updates().flatMap(({ message }) =>
        message === undefined ? [] : [Number((message as JsonObject)["seq"])],
      );
      expect(seqs).toEqual(seqs.map((_, at) => (seqs[0] ?? 0) + at));
    } finally {
      child.kill("SIGTERM");
      await once(child, "close");
    }
  },
);
