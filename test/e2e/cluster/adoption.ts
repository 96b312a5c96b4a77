import { readFile } from "node:fs/promises";
import { expect, it, type TestContext } from "vitest";
import { type TestCluster, untilInCluster } from "../../support/cluster/cluster.ts";
import type { Ran } from "../../support/run-to-end.ts";

const LIMIT_MS = 240_000;
const MANIFEST = new URL("../../../deploy/k8s/adopted-deployment.yaml", import.meta.url);

/** The empty stderr is part of it, so that a failure shows its text. */
const DONE = { code: 0, stderr: "" };

/** The account that creates the pods of a Deployment. */
export const REPLICA_SETS = "system:serviceaccount:kube-system:replicaset-controller";

/** Access to the installed chart. */
interface Installed {
  here(context: TestContext): Promise<TestCluster>;
  /** Runs `gt` with the settings for the controllers. */
  run(...args: readonly string[]): Promise<Ran>;
  readonly namespace: string;
  /** The image of a sidecar with the demo agent, in the node. */
  image(): string;
}

/** Tests that the unchanged Deployment of `deploy/k8s` is adopted, and the status of a session whose pod hangs. */
export function adoption({ here, run, namespace, image }: Installed): void {
  const manifest = async () =>
    (await readFile(MANIFEST, "utf8")).replace("image: gt-sidecar:0.1.0", `image: ${image()}`);
  const sessionOf = async (id: string) => {
    const all = JSON.parse((await run("agents", "--json")).stdout || "[]") as readonly Record<string, string>[];
    return all.find(({ session_id }) => session_id === id);
  };

  it("adopts the Deployment of deploy/k8s as printed", { timeout: LIMIT_MS }, async (context) => {
    const cluster = await here(context);
    await cluster.kubectl(["-n", namespace, "apply", "-f", "-"], await manifest());
    await untilInCluster("the session", 60_000, async () => await sessionOf("example"));
    expect(await run("wait", "example", "--for", "idle", "--timeout", "120s")).toMatchObject(DONE);
    expect(await run("nudge", "example", "hello")).toMatchObject(DONE);
    expect(await sessionOf("example")).toMatchObject({ agent: "example/polecats/example", provider: "demo" });
    await cluster.kubectl(["-n", namespace, "delete", "deployment", "agent-example", "--wait=true"]);
    await untilInCluster("it is gone", 90_000, async () =>
      (await sessionOf("example")) === undefined ? true : undefined,
    );
  });

  it.for([
    ["has no label gastown.io/agent", /^ +gastown\.io\/agent: .*\n/gm, "", /its pod has no label gastown\.io\/agent/],
    [
      "mounts another Secret",
      /gastown-session-example$/m,
      "gastown-session-other",
      /gastown-session-other.*is in gastown-session-example/,
    ],
  ] as const)(
    "reports a session as failed, with the reason, when its pod %s",
    { timeout: LIMIT_MS },
    async ([, label, change, why], context) => {
      const cluster = await here(context);
      await cluster.kubectl(["-n", namespace, "apply", "-f", "-"], (await manifest()).replace(label, change));
      const failed = async () => {
        const session = await sessionOf("example");
        return session?.["status"] === "failed" ? session : undefined;
      };
      expect(await untilInCluster("its reason", 90_000, failed)).toMatchObject({
        reason: "FailedMount",
        error: expect.stringMatching(why),
      });
      await cluster.kubectl(["-n", namespace, "delete", "deployment", "agent-example", "--wait=true"]);
      await untilInCluster("it is gone", 90_000, async () =>
        (await sessionOf("example")) === undefined ? true : undefined,
      );
    },
  );
}
