import { expect, it } from "vitest";
import { untilInCluster } from "../support/cluster/cluster.ts";
import { type Release, upgradeOf } from "./chart-upgrades.ts";

const LIMIT_MS = 600_000;
const SYSTEM = "gastown-system";

/** An object of a chart that depends on this one: both have the same release. */
const OF_A_PARENT = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    ...{ name: "of-a-parent", namespace: SYSTEM, labels: { "app.kubernetes.io/name": "town" } },
    annotations: { "meta.helm.sh/release-name": "gastown", "meta.helm.sh/release-namespace": SYSTEM },
  },
};

/** Tests an upgrade's leftovers, on a real API server that has the first client's files. */
export function chartLeftovers({ here, helm, dir, values }: Release): void {
  const upgrade = upgradeOf({ helm, dir, values });

  it("an upgrade that names another first client deletes the previous client's files", {
    timeout: LIMIT_MS,
  }, async (context) => {
    const found = await here(context);
    const files = ["-n", SYSTEM, "get", "secret", "gastown-client-admin", "--ignore-not-found", "-o", "name"];
    expect(await found.kubectl(files)).toContain("gastown-client-admin");
    await upgrade({ setup: { client: { name: "ops" } } });
    await untilInCluster("the files gone", 60_000, async () => (await found.kubectl(files)) === "" || undefined);
    await helm().run("rollback", "gastown", "1", "-n", SYSTEM);
  });

  it.for([
    ["a rollback", async () => await helm().run("rollback", "gastown", "1", "-n", SYSTEM)],
    ["another upgrade", async () => await upgrade({})],
  ] as const)(
    "an upgrade that fails half-way leaves no objects behind after %s",
    { timeout: LIMIT_MS },
    async ([, mend], context) => {
      const found = await here(context);
      const apps = "deployments,services,configmaps,jobs,serviceaccounts";
      const kinds = `${apps},roles,rolebindings,networkpolicies,poddisruptionbudgets`;
      const made = async () => {
        const list = ["get", kinds, "-A", "-l", "app.kubernetes.io/part-of=gastown", "-o", "name"];
        const names = (await found.kubectl(list)).trim().split("\n");
        return names.map((name) => name.replace(/-setup-\d+-/, "-setup-N-")).sort();
      };
      await found.kubectl(["apply", "-f", "-"], JSON.stringify(OF_A_PARENT));
      const before = await made();
      const system = ["-n", SYSTEM];
      await found.kubectl([...system, "create", "quota", "no-jobs", "--hard=count/jobs.batch=1"]);
      const hard = ["get", "quota", "no-jobs", "-o", "jsonpath={.status.used}"];
      await untilInCluster(
        "the quota in force",
        30_000,
        async () => /"1"/.test(await found.kubectl([...system, ...hard])) || undefined,
      );
      const more = { name: "gastown-more", project: "default", create: true };
      const relay = { enabled: true, nats: { url: "nats://nats:4222" } };
      const change = { setup: { client: { name: "ops" } }, namespaces: [...values.namespaces, more], relay };
      await expect(upgrade(change)).rejects.toThrow(/exceeded quota: no-jobs/);
      expect(await made()).toEqual(
        expect.arrayContaining(["configmap/gastown-client-ops", "deployment.apps/gastown-relay"]),
      );
      await found.kubectl([...system, "delete", "quota", "no-jobs"]);
      await mend();
      expect(await made()).toEqual(before);
      expect(await found.kubectl([...system, "get", "configmap", "of-a-parent", "-o", "name"])).toContain(
        "of-a-parent",
      );
    },
  );
}
