import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, type TestContext } from "vitest";
import { systemClock } from "../../../internal/base/clock.ts";
import { asObjects, asText, type Json, objectAt } from "../../../internal/base/json-fields.ts";
import { findThreads, ThreadsClient } from "../../../internal/threads/client/threads-client.ts";
import { type TestCluster, untilInCluster } from "../../support/cluster/cluster.ts";
import { Containers } from "../../support/cluster/containers.ts";
import { TAKEN_LOG, takenIn } from "../../support/cluster/live-pod.ts";
import type { Ran } from "../../support/run-to-end.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { runbookCommands } from "../../support/threads/runbook-commands.ts";

const LIMIT_MS = 600_000;
const TALK_MS = 180_000;
const DATABASE = "threads-database";
const PASSWORD = "of-a-test-only";
const ROLES = ["reviewer", "fixer"] as const;
const NEVER = new AbortController().signal;
/** PostgreSQL as a child of a shell, so that it can be killed from inside: the container ends with it. */
const SERVE = `set -eu
bin=/usr/lib/postgresql/15/bin
if [ ! -e /data/pg/PG_VERSION ]; then
  printf %s "$PGPASSWORD" >/tmp/password
  $bin/initdb -D /data/pg -U threads -A scram-sha-256 --pwfile=/tmp/password --no-locale -E UTF8
  echo 'host all all all scram-sha-256' >>/data/pg/pg_hba.conf
fi
$bin/postgres -D /data/pg -c 'listen_addresses=*' -c unix_socket_directories=/tmp &
trap 'kill -INT $!' TERM
wait $!`;

/** Access to the installed chart. */
interface Installed {
  here(context: TestContext): Promise<TestCluster>;
  /** The folder with the first client's files. */
  clientDir(): string;
  readonly namespaces: { readonly system: string; readonly agents: string };
  /** Upgrades the release to its values and those of a file, and waits. */
  upgrade(file: string): Promise<unknown>;
  /** gt with the first client's files. */
  run(...args: readonly string[]): Promise<Ran>;
  /** The image of a sidecar with the demo agent, in the node. */
  image(): string;
}

/** Tests three threads servers of the chart: agents of pods talk while a server and the database are killed. */
export function threads({ here, clientDir, namespaces, upgrade, run, image }: Installed): void {
  const { system, agents } = namespaces;

  const servers = async (cluster: TestCluster) => {
    const args = ["-n", system, "get", "pods", "-l", "app.kubernetes.io/component=threads", "-o", "name"];
    return (await cluster.kubectl(args)).trim().split("\n");
  };
  /** Calls of a person, through a port that is forwarded to one server. */
  const person = async (cluster: TestCluster, pod: string) => {
    const forward = await cluster.forward(pod.replace("pod/", ""), 9448, "-n", system);
    const file = (name: string) => join(clientDir(), name);
    const kept = { "jwt-key": file("jwt.key"), "jwt-issuer": "admin", project: "default", person: "ann" };
    const at = { threads: `https://localhost:${forward.port}`, ca: file("ca.crt"), kept: () => kept };
    const client = new ThreadsClient(findThreads({}, systemClock, at));
    const call = (name: string, input: object): Promise<Json> => client.call(name, input, NEVER);
    return {
      call,
      messages: async (thread_id: string) =>
        asObjects((await call("read_messages", { thread_id, after_seq: 0, limit: 200 }))["messages"]),
      [Symbol.asyncDispose]: async () => {
        client[Symbol.dispose]();
        await forward[Symbol.asyncDispose]();
      },
    };
  };

  it("gets three threads servers by an upgrade, which first migrates the database", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const cluster = await here(context);
    const containers = await Containers.here(context);
    const dir = await mkdtemp(join(tmpdir(), "gt-threads-"));
    context.onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const archive = join(dir, "image.tar");
    const postgres = await cluster.load(archive, await containers.buildPostgres(archive));
    await cluster.kubectl(["apply", "-f", "-"], databaseObjects(postgres));
    await cluster.kubectl(["-n", DATABASE, "wait", "--for=condition=Ready", "pod/postgres", "--timeout=120s"]);
    const url = `postgres://threads:${PASSWORD}@postgres.${DATABASE}:5432/postgres`;
    await cluster.kubectl(["-n", system, "create", "secret", "generic", DATABASE, `--from-literal=url=${url}`]);
    const agent = (part: string) => ({
      ...{ image: image(), imagePullPolicy: "IfNotPresent", profile: "demo" },
      command: ["gt-demo-agent", "--turn-ms", "2000", "--steps", "2", "--log", TAKEN_LOG, "--threads", part],
    });
    const values = {
      agents: { reviewer: agent("review"), fixer: { ...agent("fix"), isolation: "containers" } },
      sessionTokens: { roles: ROLES },
      threads: { enabled: true, replicas: 3, database: { secretName: DATABASE }, policy: { quiet: "1s" } },
    };
    const file = join(dir, "threads.json");
    await writeFile(file, JSON.stringify(values));
    await upgrade(file);
    expect(await servers(cluster)).toHaveLength(3);
    const jobs = ["-n", system, "get", "jobs", "-l", "app.kubernetes.io/component=threads-migrate", "-o", "name"];
    expect(await cluster.kubectl(jobs)).toBe("");
    const [pod = ""] = await servers(cluster);
    const look = await cluster.kubectl(["-n", system, "exec", pod, "--", "threads", "doctor"]);
    expect(look).not.toContain("FAIL");
  });

  it("gives agents of pods a token, the server's CA and the tools", { timeout: LIMIT_MS }, async (context) => {
    const cluster = await here(context);
    for (const role of ROLES) {
      const options = ["-o", `agent=shop/${role}`, "-o", `role=${role}`];
      const started = await run("start", role, "/workspace", "--session", `s-${role}`, ...options);
      expect(started, started.stderr).toMatchObject({ code: 0 });
    }
    for (const role of ROLES) {
      const own = ["-n", agents, "get", "pod", "-l", `gastown.io/session=s-${role}`, "-o", "name"];
      const pod = (await cluster.kubectl(own)).trim();
      const inside = async (...args: readonly string[]) =>
        await cluster.kubectl(["-n", agents, "exec", pod, "-c", "agent", "--", ...args]);
      expect(await inside("gt", "threads", "ls", "--json")).toBe("");
      const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
      const requests = [
        { method: "initialize", id: 1, params: hello },
        { method: "tools/call", id: 2, params: { name: "whoami", arguments: {} } },
      ].map((one) => JSON.stringify({ jsonrpc: "2.0", ...one }));
      // Once the input of `gt threads mcp` has ended, it waits only 2 s for answers.
      const input = `printf '%s\\n' '${requests.join("' '")}'; sleep 8`;
      const said = await inside("sh", "-c", `{ ${input}; } | gt threads mcp`);
      const answers = said
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Json);
      const whoami = answers.find(({ id }) => id === 2);
      expect(objectAt(whoami, "result", "structuredContent")).toMatchObject({
        ...{ agent_id: `shop/${role}`, role, workspace_id: "default", session_id: `s-${role}` },
      });
    }
  });

  it("loses nothing and wakes both agents while a server and then the database are killed", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const cluster = await here(context);
    const [kept = "", killed = ""] = await servers(cluster);
    await using ann = await person(cluster, kept);
    const participants = ROLES.map((role) => ({ agent_id: `shop/${role}`, role }));
    const made = await ann.call("create_thread", { title: "review of the cart", participants });
    const thread_id = asText(objectAt(made, "thread")["thread_id"]);
    let last = "";
    const seen = async (event: string) => {
      const found = await ann.messages(thread_id).catch(() => []);
      last = JSON.stringify([found, await ann.call("list_wakes", { thread_id }).catch(String)]);
      return found.some(({ event_type }) => event_type === event) || undefined;
    };

    await ann.call("post_message", { thread_id, text: "please review src/cart.ts", to_role: ["reviewer"] });
    await cluster.kubectl(["-n", system, "delete", killed, "--force", "--grace-period=0"]);
    await until(
      "the finding",
      TALK_MS,
      () => seen("finding_reported"),
      () => last,
    );
    const kill = "kill -9 $(head -n 1 /data/pg/postmaster.pid)";
    // The container may end, and kubectl with it, before the command has returned.
    await cluster.kubectl(["-n", DATABASE, "exec", "postgres", "--", "sh", "-c", kill]).catch(() => {});
    const count = "jsonpath={.status.containerStatuses[0].restartCount}";
    const restarts = ["-n", DATABASE, "get", "pod", "postgres", "-o", count];
    await untilInCluster("a restart of the database", TALK_MS, async () =>
      Number(await cluster.kubectl(restarts)) > 0 ? true : undefined,
    );
    await until(
      "the resolution",
      TALK_MS,
      () => seen("resolved"),
      () => last,
    );

    const messages = (await ann.messages(thread_id)).filter(({ kind }) => kind !== "system");
    const events = messages.map(({ sender, event_type }) => [objectAt({ sender }, "sender")["agent_id"], event_type]);
    expect(events).toEqual([
      ["ann", undefined],
      ["shop/reviewer", "finding_reported"],
      ["shop/fixer", "fix_pushed"],
      ["shop/fixer", "re_review_requested"],
      ["shop/reviewer", "resolved"],
    ]);
    const all = await ann.messages(thread_id);
    expect(all.map(({ seq }) => Number(seq))).toEqual(all.map((_, i) => i + 1));
    // If a server lost the database in the middle of a wake, another server takes over the wake when the lease has
    // expired.
    const submitted = async () => {
      const answer = await ann.call("list_wakes", { thread_id }).catch(() => ({}));
      const wakes = asObjects(objectAt({ answer }, "answer")["wakes"]);
      last = JSON.stringify(wakes);
      const whose = wakes.filter(({ outcome }) => outcome === "submitted").map(({ agent_id }) => agent_id);
      return ROLES.every((role) => whose.includes(`shop/${role}`)) || undefined;
    };
    await until("both woken, by their receipts", TALK_MS, submitted, () => last);
    for (const role of ROLES) {
      const typed = await takenIn({ agents, cluster }, `s-${role}`);
      const ids = typed.map((text) => /^\[threads (w-\S+)\]/.exec(text)?.[1]);
      expect(ids.length).toBeGreaterThan(0);
      expect(new Set(ids).size).toBe(ids.length);
    }
    expect(await ann.call("verify_audit", {})).toMatchObject({ ok: true });
    // A server that was started while the database was down exits, and is started again after a while.
    await untilInCluster("three servers ready", TALK_MS, async () => {
      const args = ["-n", system, "get", "deployment", "gastown-threads", "-o", "jsonpath={.status.readyReplicas}"];
      return (await cluster.kubectl(args)) === "3" || undefined;
    });
  });

  it("answers the runbook's commands of a cluster as they are printed", { timeout: LIMIT_MS }, async (context) => {
    const cluster = await here(context);
    const commands = (await runbookCommands()).get("A server does not start, or is down") ?? [];
    const said: string[] = [];
    for (const command of commands) {
      expect(command).toMatch(/^kubectl /);
      said.push(await cluster.kubectl(command.split(" ").slice(1)));
    }
    expect(said[0]).toMatch(/(?:gastown-threads-\S+ +1\/1 +Running.*\n){3}/);
    expect(said[1]).toContain("[pod/gastown-threads-");
    expect(said[2]).toContain("ok    schema current");
    expect(said.at(-1)).toContain("successfully rolled out");
    for (const role of ROLES) expect(await run("stop", `s-${role}`)).toMatchObject({ code: 0 });
    await cluster.kubectl(["delete", "namespace", DATABASE, "--wait=false"]);
    await cluster.kubectl(["-n", system, "delete", "secret", DATABASE]);
  });
}

/** On a busy node, a program in a pod may take seconds to start. */
const OFTEN = { periodSeconds: 1, timeoutSeconds: 30 };

function databaseObjects(image: string): string {
  const metadata = { name: "postgres", namespace: DATABASE, labels: { app: "postgres" } };
  const container = {
    ...{ name: "postgres", image, imagePullPolicy: "IfNotPresent", command: ["sh", "-c", SERVE] },
    env: [{ name: "PGPASSWORD", value: PASSWORD }],
    readinessProbe: { exec: { command: ["pg_isready", "-h", "127.0.0.1", "-U", "threads"] }, ...OFTEN },
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  };
  const spec = { containers: [container], volumes: [{ name: "data", emptyDir: {} }], terminationGracePeriodSeconds: 1 };
  const items = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: DATABASE } },
    { apiVersion: "v1", kind: "Service", metadata, spec: { selector: { app: "postgres" }, ports: [{ port: 5432 }] } },
    { apiVersion: "v1", kind: "Pod", metadata, spec },
  ];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}
