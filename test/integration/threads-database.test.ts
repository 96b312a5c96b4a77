import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintLocal } from "../../internal/threads/client/local-issuer.ts";
import { eventually } from "../support/eventually.ts";
import { runProgramOf } from "../support/threads/run-threads.ts";
import { TestDatabase } from "../support/threads/test-database.ts";
import { startThread, ThreadsServer } from "../support/threads/threads-server.ts";

const LONG = AbortSignal.timeout(600_000);

interface Verified {
  readonly ok: boolean;
  readonly checked: number;
  readonly broken: readonly { readonly thread_id: string; readonly seq: number }[];
}

let database: TestDatabase;
let server: ThreadsServer;
/** Another database, without threads. */
let empty: TestDatabase;
let folder: string;
let archive: string;
beforeAll(async () => {
  folder = await mkdtemp("/tmp/gt-threads-archive-");
  await chmod(folder, 0o711);
  archive = join(folder, "all.jsonl");
  [database, empty] = await Promise.all([TestDatabase.start(), TestDatabase.start()]);
  await Promise.all([database, empty].map((one) => threads("migrate", ...at(one))));
  server = await ThreadsServer.start(...at(database));
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
  await empty?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const at = (one: TestDatabase) => ["--database-url", one.url()];
const threads = (...args: string[]) => runProgramOf("threads", args, { HOME: folder });

async function verify(): Promise<Verified> {
  using auditor = server.client("town/auditor", "auditor");
  return (await auditor.call("verify_audit", {}, LONG)) as unknown as Verified;
}

/** Creates a thread with messages, a reply, metadata and text that JSON must escape. */
async function talk(): Promise<string> {
  using lead = server.client("town/lead", "orchestrator");
  const thread_id = await startThread(lead, "a\u2028b", ["town/a"], LONG);
  const post = (more: object) => lead.call("post_message", { thread_id, ...more }, LONG);
  const first = await post({
    text: 'a "quoted" \\ line\nand \u001b[31mred 🦊',
    metadata: { n: 1.5, deep: [{ x: null }] },
  });
  for (let at = 0; at < 5; at++) await post({ text: `more ${at}`, in_reply_to: first["message_id"] });
  return thread_id;
}

describe("hash chains", () => {
  it.each([
    ["a text", "update threads.message set body = 'other' where thread_id = $1 and seq = 3", 3],
    ["a sender", "update threads.message set sender = 'town/x' where thread_id = $1 and seq = 2", 2],
    ["metadata", "update threads.message set metadata = '{}' where thread_id = $1 and seq = 1", 1],
    ["the last message", "delete from threads.message where thread_id = $1 and seq = 6", 6],
    ["a message in the middle", "delete from threads.message where thread_id = $1 and seq = 4", 4],
  ])("report the first broken row when %s is changed or removed", async (_, statement, seq) => {
    const thread = await talk();
    expect(await verify()).toMatchObject({ ok: true, broken: [] });
    const kept = await database.query<{ m: string }>(
      "select row_to_json(m)::text as m from threads.message m where thread_id = $1",
      [thread],
    );
    await database.query(statement, [thread]);
    expect(await verify()).toMatchObject({ ok: false, broken: [{ thread_id: thread, seq }] });
    await database.query("delete from threads.message where thread_id = $1", [thread]);
    await database.query("delete from threads.participant where thread_id = $1", [thread]);
    await database.query("delete from threads.thread where thread_id = $1", [thread]);
    expect(kept).toHaveLength(6);
  });

  it("of the audit trail prevent changes, and report a removed row", async () => {
    await talk();
    for (const statement of [
      "update threads.audit set actor = 'x'",
      "delete from threads.audit",
      "truncate threads.audit",
    ]) {
      await expect(database.query(statement)).rejects.toThrow("the audit trail is append-only");
    }
    const [last] = await database.query<{ seq: number }>("select max(seq)::int as seq from threads.audit");
    const without = (what: string) => database.query(`alter table threads.audit ${what} trigger audit_rows`);
    await without("disable");
    const row = await database.query<{ row: string }>(
      "delete from threads.audit where seq = $1 returning row_to_json(audit)::text as row",
      [last?.seq],
    );
    expect(await verify()).toMatchObject({ ok: false, broken: [{ seq: last?.seq }] });
    await database.query(
      "insert into threads.audit select * from json_populate_record(null::threads.audit, $1::json)",
      [row[0]?.row],
    );
    await without("enable");
    expect(await verify()).toMatchObject({ ok: true });
  });
});

describe("export and import", () => {
  beforeAll(async () => {
    await talk();
    const ran = await threads("export", ...at(database), "--file", archive);
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("rows in") });
  });

  it("refuse to write an archive through a link", async () => {
    const link = join(folder, "link.jsonl");
    await symlink("elsewhere.jsonl", link);
    const refused = await threads("export", ...at(database), "--file", link);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("is a link to elsewhere.jsonl") });
    expect(existsSync(link)).toBe(false);
  });

  it("move everything to another PostgreSQL, also the embedded one", async () => {
    const state = join(folder, "state");
    const imported = await threads("import", "--file", archive, "--state-dir", state);
    expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining("every chain of hashes is whole") });
    const again = join(folder, "again.jsonl");
    expect(await threads("export", "--state-dir", state, "--file", again)).toMatchObject({ code: 0 });
    const rowsOf = async (file: string) => {
      const lines = (await readFile(file, "utf8")).trimEnd().split("\n").slice(1, -1);
      return lines.filter((line) => !line.startsWith('["audit"') && !line.startsWith('["workspace"'));
    };
    expect(await rowsOf(again)).toEqual(await rowsOf(archive));
    const twice = await threads("import", "--file", archive, "--state-dir", state);
    expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining("has threads already") });
  });

  it.each([
    ["is missing", "none.jsonl"],
    ["is a folder", "."],
  ])("report an archive that %s", async (_, name) => {
    const file = join(folder, name);
    const ran = await threads("import", ...at(empty), "--file", file);
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(`threads: error: ${file} cannot be read`)]);
  });

  it.each([
    ["a text", (text: string) => text.replace("more 2", "more 9"), "was changed"],
    ["the last line", (text: string) => text.trimEnd().split("\n").slice(0, -1).join("\n"), "cut off"],
    ["the first line", (text: string) => text.split("\n").slice(1).join("\n"), "does not begin"],
    ["a partial line", (text: string) => text.slice(0, -20), "not JSON"],
  ])("refuse an archive in which %s was changed, and store nothing", async (_, change, words) => {
    const file = join(folder, "changed.jsonl");
    await writeFile(file, change(await readFile(archive, "utf8")));
    const ran = await threads("import", ...at(empty), "--file", file);
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(await empty.query("select from threads.thread")).toHaveLength(0);
  });
});

describe("an unusable database is reported in one line with its exit code:", () => {
  it.each([["doctor"], ["serve"]])("%s with an unreachable one", async (command) => {
    const url = `postgres://threads@localhost/postgres?host=${encodeURIComponent(folder)}`;
    const ran = await threads(command, "--database-url", url);
    expect(ran.code).toBe(3);
    expect(ran.stdout + ran.stderr).toContain("the database cannot be reached");
  });

  it("one that refuses a privilege, or a second connection", async () => {
    await database.query("create role lonely login connection limit 1");
    const url = new URL(database.url());
    url.username = "lonely";
    const doctor = async (what: string) => {
      const ran = await threads("doctor", "--database-url", url.href);
      expect([ran.code, ran.stderr, ran.stdout]).toEqual([3, "", expect.stringContaining(`FAIL  database: ${what}`)]);
    };
    await doctor("the database user lacks a privilege");
    await database.query("grant usage on schema threads to lonely");
    await database.query("grant select on threads.kysely_migration to lonely");
    await doctor("the database has no connection left");
  });

  it("one with a newer schema", async () => {
    await empty.query("insert into threads.kysely_migration (name, timestamp) values ('9999', 'now')");
    for (const command of ["serve", "migrate", "export"]) {
      const ran = await threads(command, ...at(empty));
      expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining("newer than this threads")]);
    }
    await empty.query("delete from threads.kysely_migration where name = '9999'");
  });

  it("F17: a read-only one, from which the server recovers", async () => {
    using lead = server.client("town/lead", "orchestrator");
    await lead.call("create_thread", { title: "before" }, LONG);
    await database.query("alter system set default_transaction_read_only = on");
    await database.query("select pg_reload_conf()");
    await expect(lead.call("create_thread", { title: "in vain" }, LONG)).rejects.toMatchObject({
      message: expect.stringContaining("read-only"),
      fields: { code: "UNAVAILABLE" },
    });
    await database.query("alter system reset default_transaction_read_only");
    await database.query("select pg_reload_conf()");
    const works = () =>
      lead.call("create_thread", { title: "after" }, LONG).then(
        () => true,
        () => false,
      );
    await eventually("it is written to again", works, 30_000);
  });

  it("no PostgreSQL", async () => {
    const ran = await threads("serve", "--state-dir", join(folder, "none"), "--postgres", join(folder, "nothing"));
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining("there is no PostgreSQL 15 or newer")]);
  });

  // Only root can run PostgreSQL as another user.
  const asRoot = process.getuid?.() === 0 ? it : () => {};
  asRoot("a folder out of its user's reach", async () => {
    const closed = await mkdtemp("/tmp/gt-threads-closed-");
    try {
      const ran = await threads("serve", "--state-dir", join(closed, "state"));
      expect([ran.code, ran.stderr]).toEqual([5, expect.stringContaining("cannot reach")]);
    } finally {
      await rm(closed, { recursive: true });
    }
  });
});

describe("threads.yaml", () => {
  const keyFile = () => join(server.stateDir, "keys/agent.pub");
  const write = async (text: string) => {
    const file = join(folder, "threads.yaml");
    await writeFile(file, text);
    return file;
  };

  it("configures the server with its issuers, policy and database", async () => {
    await writeFile(join(folder, "url"), `${database.url()}\n`, { mode: 0o600 });
    const file = await write(
      [
        "server: { listen: 127.0.0.1:0, health_listen: 127.0.0.1:0 }",
        "database: { url_file: url }",
        `auth:\n  jwt_public_keys:\n    - { issuer: local-agents, key_path: ${keyFile()}, workspaces: [town], roles: [worker] }`,
        "runtime: { kind: none }",
        "policy: { turns: 7 }",
      ].join("\n"),
    );
    await using other = await ThreadsServer.start("--config", file);
    const token = (workspace: string, role: string) => {
      const who = { kind: "agent", workspace, agent: "town/a", role, session: "s", ttlMs: 60_000 } as const;
      return mintLocal(server.stateDir, who, Date.now());
    };
    const ask = async (workspace: string, role: string) => {
      const answer = await fetch(`${other.url}/threads.v1.ThreadsService/GetPolicy`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token(workspace, role)}` },
        body: "{}",
      });
      return { status: answer.status, body: await answer.text() };
    };
    expect(await ask("town", "worker")).toEqual({ status: 200, body: expect.stringContaining('"turns":7') });
    expect(await ask("elsewhere", "worker")).toMatchObject({ status: 401 });
    expect(await ask("town", "orchestrator")).toMatchObject({ status: 401 });
  });

  it("is checked: 0 if it is valid, and otherwise a line for each fault", async () => {
    expect(await threads("check", "--config", await write("runtime: { kind: none }\n"))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("threads.yaml: ok"),
    });
    const faulty = await write(
      [
        "server: { listn: 127.0.0.1:1 }",
        "database: { url_file: none }",
        "auth:",
        "  agent_max_ttl: 2h",
        "  jwt_public_keys: [{ issuer: i, key_path: none.pub, roles: [operator] }]",
        "runtime: { kind: moon }",
        "policy: { quiet: 5, turn: 3 }",
      ].join("\n"),
    );
    const ran = await threads("check", "--config", faulty);
    const lines = ran.stderr.replaceAll(`${folder}/`, "").split("\n");
    expect(lines.filter((line) => line.startsWith("threads.yaml:"))).toEqual([
      "threads.yaml:1: server.listn: is not known here; did you mean listen?",
      expect.stringMatching(/^threads.yaml:4: auth.agent_max_ttl: must be a duration .* to 1h$/),
      "threads.yaml:5: auth.jwt_public_keys[0].roles: operator is for issuers of kind person",
      "threads.yaml:6: runtime.kind: must be one of local, bridge, none",
      expect.stringMatching(/^threads.yaml:7: policy.quiet: must be a duration/),
      "threads.yaml:7: policy.turn: is not known here; did you mean turns?",
    ]);
    expect(ran.code).toBe(2);
    const bridge = await threads("check", "--config", await write("runtime:\n  kind: bridge\n  jwt_issuer: shop\n"));
    expect(bridge.stderr).toContain("threads.yaml:2: runtime.kind: needs tls_dir, jwt_key");
    const files = "{ kind: bridge, bridge_url: http://b, tls_dir: none, jwt_key: none, jwt_issuer: shop }";
    const unusable = await threads("check", "--config", await write(`runtime: ${files}\n`));
    expect(unusable.stderr).toContain("threads.yaml:1: runtime.bridge_url: must be HOST:PORT");
    const missing = await threads("check", "--config", await write("database: { url_file: none }\n"));
    expect(missing.stderr).toContain("threads.yaml:1: database.url_file: ");
  });
});
