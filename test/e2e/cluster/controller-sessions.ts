import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { decodeToken } from "../../../internal/auth/token-format.ts";
import { EventType, SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { gt } from "../../support/bridge/gt-transcript.ts";
import { CallLoad, DirectCaller } from "../../support/bridge/rotation-scene.ts";
import { untilInCluster } from "../../support/cluster/cluster.ts";
import type { RunningReplica } from "../../support/cluster/controller-cluster.ts";
import { ClusterEventReader } from "../../support/cluster/event-reader.ts";
import { reaches, startDemoSession, useTwoReplicas } from "../../support/cluster/two-replicas.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import { disruptions } from "./disruptions.ts";
import { overviews } from "./overviews.ts";

const LIMIT_MS = 600_000;
const WAIT_MS = 60_000;
/** `npm run e2e` runs all of it. */
const isFull = process.env["GT_E2E"] === "full";

describe("the controller on a real cluster, with agents in a namespace that enforces Pod Security restricted", () => {
  const pair = useTwoReplicas();

  it(
    "starts an agent, shows it, writes to it, streams it and stops it through any replica",
    async (context) => {
      const { cluster, agents } = await pair.here(context);
      const before = performance.now();
      expect((await startDemoSession(pair.first, "one")).status).toBe(SessionStatus.STARTING);
      const startMs = performance.now() - before;
      await reaches(pair.second, "one", SessionStatus.RUNNING);
      if (isFull)
        process.stderr.write(
          `StartSession ${Math.round(startMs)} ms; running ${Math.round(performance.now() - before)} ms\n`,
        );
      const request = { message: "hello from the controller" };
      const nudge = await pair.second.client.nudge({ sessionId: "one", request });
      expect(nudge.outcome, nudge.error).toBe(NudgeOutcome.SUBMITTED);
      const peek = await pair.first.client.peek({ sessionId: "one", request: {} });
      expect(peek.output).toContain("hello from the controller");
      const input = { text: "second message", idempotencyKey: "k1" };
      const sent = await pair.first.client.sendInput({ sessionId: "one", ...input });
      expect(sent.accepted).toBe(true);
      expect(sent.seq).toBeGreaterThan(0n);
      const known = await pair.second.client.getSession({ sessionId: "one" });
      expect(known.lastSeq).toBeGreaterThanOrEqual(sent.seq);
      expect(known.epoch).not.toBe("");

      const types: EventType[] = [];
      const stop = new AbortController();
      for await (const event of pair.first.client.streamEvents(
        { sessionId: "one", afterSeq: 0n },
        { signal: stop.signal },
      )) {
        types.push(event.type);
        if (event.type === EventType.INPUT_RECEIVED && event.requestId === "k1") expect(event.seq).toBe(sent.seq);
        expect([event.sessionId, event.projectId]).toEqual(["one", "shop"]);
        if (event.type === EventType.NUDGE_RECEIPT && event.requestId === "k1") break;
      }
      stop.abort();
      expect(types).toContain(EventType.SESSION_STARTED);
      expect(types).toContain(EventType.INPUT_RECEIVED);

      const listed = await pair.second.client.listSessions({});
      expect(listed.sessions.map(({ sessionId }) => sessionId)).toEqual(["one"]);
      await pair.second.client.stopSession({ sessionId: "one" });
      await reaches(pair.first, "one", SessionStatus.STOPPED);
      const kept: boolean[] = [];
      for await (const { done } of pair.second.client.streamEvents({ sessionId: "one", afterSeq: 0n })) kept.push(done);
      expect(kept.at(-1)).toBe(true);
      await untilInCluster("the pod and its Secret to go", WAIT_MS, async () => {
        const left = await cluster.kubectl(["-n", agents, "get", "pods,secrets", "-o", "name"]);
        return left.trim() === "" ? true : undefined;
      });
    },
    LIMIT_MS,
  );

  it(
    "mounts a token of its own for each agent, renews it, and removes it at the end",
    async (context) => {
      const { cluster, agents } = await pair.here(context);
      await startDemoSession(pair.first, "token");
      await reaches(pair.first, "token", SessionStatus.RUNNING);
      const [pod = ""] = (
        await cluster.kubectl(["-n", agents, "get", "pods", "-l", "gastown.io/session=token", "-o", "name"])
      )
        .trim()
        .split("/")
        .slice(-1);
      const inside = ["-n", agents, "exec", pod, "-c", "agent", "--", "sh", "-c", 'cat "$GT_THREADS_TOKEN_FILE"'];
      const { claims } = decodeToken(await cluster.kubectl(inside));
      expect(claims).toMatchObject({
        ...{ iss: "gastown", aud: "threads", workspace_id: "shop", agent_id: "token", session_id: "token" },
      });
      const get = ["-n", agents, "get", "secret", `${pod}-token`, "--ignore-not-found", "-o", "jsonpath={.data.token}"];
      const held = async () => Buffer.from(await cluster.kubectl(get), "base64").toString();
      await untilInCluster("a renewed token", WAIT_MS, async () =>
        decodeToken(await held()).claims["jti"] === claims["jti"] ? undefined : true,
      );
      await pair.first.client.stopSession({ sessionId: "token" });
      await untilInCluster("the token to go", WAIT_MS, async () => ((await held()) === "" ? true : undefined));
    },
    LIMIT_MS,
  );

  it(
    "starts one session for the same call at both replicas, and rejects unknown providers and paths",
    async (context) => {
      await pair.here(context);
      const both = await Promise.all([startDemoSession(pair.first, "two"), startDemoSession(pair.second, "two")]);
      expect(both.map(({ sessionId }) => sessionId)).toEqual(["two", "two"]);
      const wrong = pair.first.client.startSession({
        projectId: "shop",
        sessionId: "three",
        provider: "none",
        repoPath: "/workspace",
      });
      await expect(wrong).rejects.toThrow('provider "none" is not available');
      const outside = pair.first.client.startSession({
        projectId: "shop",
        sessionId: "three",
        provider: "demo",
        repoPath: "/etc",
      });
      await expect(outside).rejects.toThrow("is not allowed");
    },
    LIMIT_MS,
  );

  it(
    "adopts others' pods where the namespace's binding permits it, and leaves a foreign Secret and its pod alone",
    async (context) => {
      const made = await pair.here(context);
      const { cluster, agents, adopting } = made;
      const create = async (namespace: string, name: string) =>
        await cluster.kubectl(["-n", namespace, "create", "-f", "-"], await made.foreignPod(name));
      const theirs = ["create", "secret", "generic", "gastown-session-trap", "--from-literal=password=x"];
      await cluster.kubectl(["-n", adopting, ...theirs]);
      for (const [namespace, name] of [
        [agents, "stray"],
        [adopting, "trap"],
        [adopting, "toast"],
      ] as const)
        await create(namespace, name);
      for (const replica of [pair.first, pair.second]) await reaches(replica, "toast", SessionStatus.RUNNING);
      const nudge = await pair.first.client.nudge({ sessionId: "toast", request: { message: "welcome" } });
      expect(nudge.outcome, nudge.error).toBe(NudgeOutcome.SUBMITTED);
      const listed = (await pair.first.client.listSessions({})).sessions.map(({ sessionId }) => sessionId);
      expect(listed).toEqual(expect.arrayContaining(["toast", "trap"]));
      expect(listed).not.toContain("stray");
      const keys = ["-n", adopting, "get", "secret", "gastown-session-trap", "-o", "jsonpath={.data}"];
      expect(Object.keys(JSON.parse(await cluster.kubectl(keys)))).toEqual(["password"]);
      await pair.first.client.stopSession({ sessionId: "toast" });
      await reaches(pair.first, "toast", SessionStatus.STOPPED);
      expect(await cluster.kubectl(["-n", adopting, "get", "pod", "toast", "-o", "name"])).toContain("toast");
      await cluster.kubectl(["-n", agents, "delete", "pod", "stray", "--force", "--grace-period=0"]);
    },
    LIMIT_MS,
  );

  it.for([
    ["unknown", "ErrImageNeverPull", SessionStatus.FAILED],
    ["huge", "Unschedulable", SessionStatus.STARTING],
    ["hungry", "OOMKilled", SessionStatus.FAILED],
  ] as const)(
    "reports that a session does not run (%s) within two seconds of the cluster's reason %s",
    { timeout: LIMIT_MS },
    async ([provider, reason, wanted], context) => {
      const { cluster, agents } = await pair.here(context);
      await pair.first.client.startSession({
        projectId: "shop",
        sessionId: provider,
        provider,
        repoPath: "/workspace",
      });
      const pod = [
        "-n",
        agents,
        "get",
        "pods",
        "-l",
        `gastown.io/session=${provider}`,
        "-o",
        "jsonpath={.items[*].status}",
      ];
      await until(
        "the cluster's word",
        WAIT_MS,
        async () => (await cluster.kubectl(pod)).includes(`"${reason}"`) || undefined,
      );
      const saidAt = performance.now();
      const isTold = async () => {
        const session = await pair.second.client.getSession({ sessionId: provider });
        return (session.reason === reason && session.status === wanted) || undefined;
      };
      await until("the controller's", WAIT_MS, isTold, pair.second.log);
      // An end for lack of memory counts as a failure once the kubelet waits before it starts the container again.
      if (provider !== "hungry") expect(performance.now() - saidAt).toBeLessThan(2_000);
      await pair.first.client.stopSession({ sessionId: provider, force: true });
    },
  );

  overviews(pair);
  disruptions(pair);

  it(
    "lists a provider as available while the cluster accepts its pod, and with the reason otherwise",
    async (context) => {
      const made = await pair.here(context);
      const { cluster, agents } = made;
      const demo = async () =>
        (await pair.first.client.listProviders({})).providers.find(({ provider }) => provider === "demo");
      expect(await demo()).toMatchObject({ available: true });
      await cluster.kubectl(["-n", agents, "create", "quota", "none", "--hard=pods=0"]);
      const pod = await made.foreignPod("late");
      const tried = () => cluster.kubectl(["-n", agents, "create", "--dry-run=server", "-f", "-"], pod);
      await until("the quota in force", WAIT_MS, () =>
        tried().then(
          () => undefined,
          () => true,
        ),
      );
      await expect(startDemoSession(pair.first, "late")).rejects.toThrow("quota");
      expect(await demo()).toMatchObject({ available: false, error: expect.stringContaining("QuotaExceeded: ") });
      await cluster.kubectl(["-n", agents, "delete", "quota", "none"]);
      await until("the provider", WAIT_MS, async () => (await demo())?.available || undefined);
    },
    LIMIT_MS,
  );

  it(
    "has the sidecars refuse a caller soon after the CA's revocation list contains its certificate",
    async (context) => {
      const made = await pair.here(context);
      await reaches(pair.second, "two", SessionStatus.RUNNING);
      await using scene = await DirectCaller.open(made, "two", "shop");
      await scene.client.peek({});
      const revokedAt = performance.now();
      await scene.revoke();
      await until("the caller to be cut off", 120_000, () =>
        scene.client.peek({}).then(
          () => undefined,
          () => true,
        ),
      );
      if (isFull) process.stderr.write(`cut off after ${Math.round(performance.now() - revokedAt)} ms\n`);
      expect((await pair.second.client.peek({ sessionId: "two", request: {} })).output).not.toBe("");
    },
    LIMIT_MS,
  );

  it(
    "replaces every certificate and the CA under load without a failed call, and drops the old CA at the end",
    async (context) => {
      const made = await pair.here(context);
      const before = new X509Certificate((await made.caSecret())["ca.crt"] ?? "").fingerprint256;
      await startDemoSession(pair.first, "four");
      await reaches(pair.first, "four", SessionStatus.RUNNING);
      const isPhase = async (...phases: string[]) => {
        const { type } = JSON.parse((await made.caSecret())["rotation.json"] ?? "{}");
        return phases.includes(type) || undefined;
      };
      const sessions = ["two", "four"];
      const early = CallLoad.begin([pair.first, pair.second], sessions);
      expect(await made.command("rotate-ca", undefined, ["--progress"])).toMatch(/^at rest +steady/);
      expect(await made.command("rotate-ca")).toMatch(/^begun +introducing/);
      expect(await made.command("rotate-ca")).toMatch(/^under way/);
      await until("the new CA to sign", WAIT_MS, () => isPhase("reissuing"), pair.first.log);
      await early.enough();
      using again = pair.first.connect();
      await again.client.peek({ sessionId: "four", request: {} });
      const { calls, failed } = await early.end();
      expect(failed).toEqual([]);
      using late = pair.first.connect();
      await made.renewClient();
      const rest = CallLoad.begin([pair.first, pair.second], sessions);
      await untilInCluster("the end of the replacement", WAIT_MS, () => isPhase("steady"), pair.first.log);
      await rest.enough();
      expect(await rest.end()).toMatchObject({ failed: [] });
      expect(calls).toBeGreaterThan(20);
      await expect(late.client.peek({ sessionId: "two", request: {} })).rejects.toThrow();
      const events = ["-n", made.ca.namespace, "get", "events", "-o", "jsonpath={.items[*].reason}"];
      expect((await made.cluster.kubectl(events)).split(" ").sort()).toEqual([
        "CaRetiring",
        "CaRotationBegan",
        "CaRotationDone",
        "CaSignerChanged",
      ]);
      expect(new X509Certificate((await made.caSecret())["ca.crt"] ?? "").fingerprint256).not.toBe(before);
      await pair.second.client.stopSession({ sessionId: "four", force: true });
    },
    LIMIT_MS,
  );

  it(
    "survives a kill of its leader: the other replica answers, and leads within 20 s",
    async (context) => {
      const found = await pair.here(context);
      const { cluster, agents } = found;
      await reaches(pair.second, "two", SessionStatus.RUNNING);
      const leads = (replica: RunningReplica) => replica.log().includes('"this replica leads"');
      const [leader, other] = leads(pair.first) ? [pair.first, pair.second] : [pair.second, pair.first];
      const log = new ClusterEventReader(leader.client);
      const kill =
        'for p in /proc/[0-9]*; do tr "\\0" " " <$p/cmdline | grep -q "gt-sideca[r].* serve" && echo $p && kill -9 $(basename $p); done; true';
      const own = ["-n", agents, "get", "pods", "-l", "gastown.io/session=two", "-o", "name"];
      const pod = (await cluster.kubectl(own)).trim();
      await log.nudged(other.client, "before");
      expect(await cluster.kubectl(["-n", agents, "exec", pod, "--", "sh", "-c", kill])).toContain("/proc/");
      await log.nudged(other.client, "between");
      await leader.kill("SIGKILL");
      const killedAt = performance.now();
      await log.goOn(other.client);
      await log.nudged(other.client, "after");
      expect(log.unnamed).toEqual([]);
      const peek = await other.client.peek({ sessionId: "two", request: {} });
      expect(peek.output.length).toBeGreaterThan(0);
      await until("the other to lead", 25_000, () => leads(other) || undefined, other.log);
      expect(performance.now() - killedAt).toBeLessThan(20_000);
      const named = (await cluster.kubectl(["config", "current-context"])).trim();
      const place = ["--context", named, "--namespace", agents, "--tls-dir", await found.callerFolder()];
      const direct = (...args: string[]) => gt([...args, ...place], { KUBECONFIG: cluster.kubeconfig, HOME: "/" });
      await other.kill("SIGSTOP"); // no replica answers
      expect(await direct("agents")).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(`two +demo +running +pod ${agents}/`),
      });
      expect(await direct("peek", "two")).toMatchObject({
        code: 0,
        stderr: "",
        stdout: expect.stringContaining("after"),
      });
      expect((await direct("status", "two")).stdout).toContain("session two");
      expect(await direct("nudge", "two", "no")).toMatchObject({
        code: 4,
        stderr: expect.stringContaining("gt --server"),
      });
      await other.kill("SIGCONT");
      await other.client.stopSession({ sessionId: "two", force: true });
      await reaches(other, "two", SessionStatus.STOPPED);
      await untilInCluster("its pod to go", WAIT_MS, async () => {
        return (await cluster.kubectl(own)).trim() === "" ? true : undefined;
      });
    },
    LIMIT_MS,
  );
});
