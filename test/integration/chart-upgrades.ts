import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { type TestCluster, untilInCluster } from "../support/cluster/cluster.ts";
import { CHART, type Helm } from "../support/cluster/helm.ts";

const LIMIT_MS = 600_000;
const SYSTEM = "gastown-system";

/** The release `gastown` of a suite. */
export interface Release {
  readonly here: (context: TestContext) => Promise<TestCluster>;
  readonly helm: () => Helm;
  readonly dir: () => string;
  /** The values of the installed release. */
  readonly values: { readonly namespaces: readonly { readonly name: string; readonly project: string }[] };
}

/** Upgrades the release to its values with a change. */
export function upgradeOf({ helm, dir, values }: Pick<Release, "helm" | "dir" | "values">) {
  return async (change: object, ...args: string[]) => {
    const file = join(dir(), "changed.json");
    await writeFile(file, JSON.stringify({ ...values, ...change }));
    return await helm().run("upgrade", "gastown", CHART, "-n", SYSTEM, "-f", file, ...args);
  };
}

/**
 * Tests the objects that Helm would delete, on a real API server. `createSession` makes a session's pod, as the
 * controller does.
 */
export function chartUpgrades(
  { here, helm, dir, values }: Release,
  createSession: (namespace: string) => Promise<unknown>,
): void {
  const upgrade = upgradeOf({ helm, dir, values });
  const [first, second] = values.namespaces;

  describe("an upgrade", () => {
    it.for([
      ["changes trustDomain", { trustDomain: "other.example" }, /trustDomain: .* has gastown\.local.*helm uninstall/],
      ["names another CA", { ca: { secretName: "other" } }, /a new one in gastown-ca\/other .*rotate-ca/],
    ] as const)("that %s is refused, and the error names the deliberate way", async ([, change, why], context) => {
      const found = await here(context);
      const before = await found.kubectl(["-n", SYSTEM, "get", "configmap", "gastown", "-o", "jsonpath={.data}"]);
      await expect(upgrade(change)).rejects.toThrow(why);
      expect(await found.kubectl(["-n", SYSTEM, "get", "configmap", "gastown", "-o", "jsonpath={.data}"])).toBe(before);
    });

    it("that leaves sessions without their controller or moves them to another project is refused", {
      timeout: LIMIT_MS,
    }, async (context) => {
      const found = await here(context);
      await createSession(first?.name ?? "");
      const end = /End them first: kubectl -n gastown-agents delete pods -l gastown\.io\/agent/;
      const refusal = await upgrade({ namespaces: [second] }).then(() => "accepted", String);
      expect(refusal).toMatch(end);
      await expect(upgrade({ namespaces: [{ ...first, project: "other" }, second] })).rejects.toThrow(end);
      await expect(upgrade({ namespaces: [{ ...first, plaintext: true }, second] })).rejects.toThrow(end);
      const said = /kubectl (-n gastown-agents delete pods -l gastown\.io\/agent)/;
      const command = said.exec(refusal)?.[1] ?? "";
      await found.kubectl([...command.split(" "), "--now"]);
      await expect(upgrade({ namespaces: [second] }, "--dry-run=server")).resolves.toContain("STATUS: pending-upgrade");
    });

    it("that drops a namespace keeps it, as do a rollback to before it and ca.createNamespace=false", {
      timeout: LIMIT_MS,
    }, async (context) => {
      const found = await here(context);
      const isThere = async (name: string) => {
        const path = "jsonpath={.status.phase}";
        expect(await found.kubectl(["get", "namespace", name, "-o", path]), name).toBe("Active");
      };
      const secret = ["-n", "more-agents", "create", "secret", "generic", "anthropic-api-key", "--from-literal=a=b"];
      const more = { name: "more-agents", project: "default", create: true };
      await upgrade({ namespaces: [...values.namespaces, more] });
      await found.kubectl(secret);
      await helm().run("rollback", "gastown", "1", "-n", SYSTEM);
      await isThere("more-agents");
      await upgrade({ namespaces: [...values.namespaces, more] }); // it is the release's again
      await upgrade({ namespaces: values.namespaces, ca: { createNamespace: false } });
      const role = async () =>
        await found
          .kubectl(["-n", "more-agents", "get", "roles", "-o", "name"])
          .then((text) => text === "" || undefined);
      await untilInCluster("the controller's rights there are gone", 30_000, role);
      for (const name of ["more-agents", "gastown-ca"]) await isThere(name);
      expect(await found.kubectl(["-n", "more-agents", "get", "secret", "anthropic-api-key", "-o", "name"])).toContain(
        "key",
      );
      await helm().run("rollback", "gastown", "1", "-n", SYSTEM);
    });
  });
}
