import { X509Certificate } from "node:crypto";
import { ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { requireMade } from "../../support/cluster/components.ts";
import { ControllerCluster, type RunningReplica, startDemo } from "../../support/cluster/controller-cluster.ts";
import { sharedApiServer } from "../../support/cluster/shared-cluster.ts";
import { until } from "../../support/sidecar/sidecar.ts";

const LIMIT_MS = 180_000;
const MINUTE_MS = 60_000;
const WRONG_CLOCK = "\"this machine's clock disagrees with the API server's: correct this machine's clock\"";

/** No pod runs here: the test covers a controller and the API server. */
describe("a controller on a real API server, among hostile or faulty parties,", () => {
  let town: ControllerCluster | undefined;
  let replica: RunningReplica;

  beforeAll(async () => {
    const given = sharedApiServer();
    if (given === undefined) return;
    town = await ControllerCluster.make(given.cluster, undefined, "hostile");
    await town.configure("agent:1", { start_timeout: "3m", retention: "2m" });
    replica = await town.replica();
  }, LIMIT_MS);

  afterAll(async () => {
    await town?.[Symbol.asyncDispose]();
  }, LIMIT_MS);

  const here = (context: TestContext) => requireMade(context, town, ["kubectl", "cluster"], "needs an API server");
  const kubectl = async (...args: string[]) => (await town?.cluster.kubectl(["-n", town.agents, ...args])) ?? "";
  const podOf = async (session: string) => {
    const get = ["get", "pods", "-l", `gastown.io/session=${session}`, "-o", "jsonpath={.items[0].metadata.name}"];
    return (await kubectl(...get)).trim();
  };

  it("accepts no token of a ServiceAccount, with the same reason for all of them", {
    timeout: LIMIT_MS,
  }, async (context) => {
    await here(context);
    await startDemo(replica, "sibling");
    const pod = await podOf("sibling");
    const account = (await kubectl("get", "pod", pod, "-o", "jsonpath={.spec.serviceAccountName}")).trim() || "default";
    await kubectl("create", "serviceaccount", "doomed");
    const token = async (name: string, ...more: string[]) => (await kubectl("create", "token", name, ...more)).trim();
    const tokens = {
      "of a sibling pod's account": await token(account),
      "with our audience": await token(account, "--audience=bridge"),
      "bound to a pod": await token(
        account,
        "--audience=bridge",
        "--bound-object-kind=Pod",
        `--bound-object-name=${pod}`,
      ),
      "of a deleted account": await token("doomed", "--audience=bridge"),
    };
    await kubectl("delete", "serviceaccount", "doomed");
    const reasons = new Set<string>();
    for (const [which, one] of Object.entries(tokens)) {
      using connection = replica.connect(one);
      const refused = await connection.client.getSession({ sessionId: "sibling" }).catch((err: unknown) => err);
      expect(refused, which).toBeInstanceOf(ConnectError);
      reasons.add((refused as ConnectError).message);
    }
    expect([...reasons]).toEqual([expect.stringMatching(/^\[unauthenticated\] /)]);
    await replica.client.getSession({ sessionId: "sibling" });
  });

  it.for([10, -10])(
    "decides as the other replicas do when its own clock is %i minutes ahead, and warns",
    {
      timeout: LIMIT_MS,
    },
    async (minutes, context) => {
      await here(context);
      const id = minutes > 0 ? "ahead" : "behind";
      const wrong = await (town as ControllerCluster).replica(undefined, { aheadMs: minutes * MINUTE_MS });
      expect(wrong.log()).toContain(WRONG_CLOCK);
      await replica.kill("SIGTERM"); // now the other one leads
      await until("it to lead", 30_000, () => wrong.log().includes('"this replica leads"') || undefined, wrong.log);
      const { status } = await startDemo(wrong, id);
      expect(status).toBe(SessionStatus.STARTING);
      const secret = JSON.parse(await kubectl("get", "secrets", `${await podOf(id)}-tls`, "-o", "json"));
      const leaf = new X509Certificate(Buffer.from(secret.data["tls.crt"], "base64"));
      const [begins, ends] = [leaf.validFromDate.getTime() - Date.now(), leaf.validToDate.getTime() - Date.now()];
      expect(begins / MINUTE_MS).toBeGreaterThan(-16);
      expect(begins / MINUTE_MS).toBeLessThan(-14);
      expect(ends / MINUTE_MS).toBeGreaterThan(23 * 60);
      replica = await (town as ControllerCluster).replica();
      for (const each of [wrong, replica]) {
        const seen = await each.client.getSession({ sessionId: id });
        expect([seen.status, seen.reason]).not.toEqual([SessionStatus.FAILED, "StartTimeout"]);
      }
      await wrong.kill("SIGTERM");
    },
  );
});
