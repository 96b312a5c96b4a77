import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { requireMountNamespace } from "../support/cluster/two-containers.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TestDatabase } from "../support/threads/test-database.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(300_000);
const [MOUNT, UNMOUNT] = ["mount", "umount"] as const;

beforeEach(requireMountNamespace);

/** A volume of 8 MiB, which belongs to the user of this database and has its messages. */
async function smallVolume(database: TestDatabase) {
  const dir = await mkdtemp("/tmp/gt-threads-full-");
  const { uid, gid } = statSync(join(database.dir, "postgres/data"));
  execFileSync(MOUNT, ["-t", "tmpfs", "-o", `size=8m,mode=0700,uid=${uid},gid=${gid}`, "messages", dir]);
  await database.query(`create tablespace small location '${dir}'`);
  await database.query("alter table threads.message set tablespace small");
  const filler = join(dir, "filler");
  return {
    fill: () => {
      const append = () => writeFileSync(filler, Buffer.alloc(4096), { flag: "a" });
      expect(() => {
        for (;;) append();
      }).toThrow("ENOSPC");
    },
    empty: () => rmSync(filler),
    [Symbol.asyncDispose]: async () => {
      execFileSync(UNMOUNT, ["--lazy", dir]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

it("F17: a full disk yields a named error without partial state, and the server recovers", {
  timeout: 400_000,
}, async () => {
  await using database = await TestDatabase.start();
  expect(await runProgramOf("threads", ["migrate", "--database-url", database.url()])).toMatchObject({ code: 0 });
  await using volume = await smallVolume(database);
  await using server = await ThreadsServer.start("--database-url", database.url(), "--runtime", "none");
  using lead = server.client("town/lead", "orchestrator");
  const thread_id = await startThread(lead, "full", ["town/a"], LONG);
  const message = { thread_id, text: randomBytes(30_000).toString("hex"), idempotency_key: "k" };
  volume.fill();
  await expect(lead.call("post_message", message, LONG)).rejects.toMatchObject({
    message: "the database's disk is full",
    fields: { code: "UNAVAILABLE" },
  });
  expect(await lead.call("get_thread", { thread_id }, LONG)).toMatchObject({ thread: { last_seq: 0 } });
  expect(await database.query("select 1 as one from threads.wake")).toEqual([]);
  volume.empty();
  expect(await lead.call("post_message", message, LONG)).toMatchObject({ seq: 1, duplicate: false });
  using auditor = server.client("town/auditor", "auditor");
  expect(await auditor.call("verify_audit", {}, LONG)).toMatchObject({ ok: true });
});
