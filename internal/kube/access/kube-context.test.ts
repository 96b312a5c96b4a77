import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { kubeContext } from "./kube-context.ts";

const dir = mkdtempSync(join(tmpdir(), "gt-kubeconfig-"));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, ...contexts: readonly string[]): string {
  const path = join(dir, name);
  const cluster = { name: "c", cluster: { server: `https://${name}.example` } };
  const config = {
    "current-context": "other",
    clusters: [cluster],
    users: [{ name: "u", user: { token: "t" } }],
    contexts: contexts.map((each) => ({ name: each, context: { cluster: "c", user: "u", namespace: `of-${each}` } })),
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}
const [one, two, absent] = [file("one", "lab"), file("two", "lab", "prod"), join(dir, "absent")];

it.each([
  ["lab", [one, two], "https://one.example"],
  ["prod", [two, one], "https://two.example"],
  ["prod", [one, two], "https://one.example"], // as kubectl: of each name the first entry counts
  ["prod", [absent, two], "https://two.example"],
] as const)("%s is read from %j merged", async (name, paths, server) => {
  const { credentials, namespace } = await kubeContext(name, { KUBECONFIG: paths.join(":") });
  expect(await credentials.access()).toMatchObject({ server, headers: { authorization: "Bearer t" } });
  expect(namespace).toBe(`of-${name}`);
});

it.each([
  ["no such context", { KUBECONFIG: `${one}:${two}` }, "not-found", /no context "none"; there are: lab, prod/],
  ["no file", { HOME: dir }, "precondition", /there is no kubeconfig: .*\.kube\/config does not exist/],
  ["neither variable", {}, "precondition", /KUBECONFIG and HOME are not set/],
])("reports that there is %s", async (_, env, kind, message) => {
  await expect(kubeContext("none", env)).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
});

it("takes context, cluster and user from several files, and impersonates as the user's entry says", async () => {
  const write = (name: string, config: object) => {
    writeFileSync(join(dir, name), JSON.stringify(config));
    return join(dir, name);
  };
  writeFileSync(join(dir, "token"), "from-a-file\n");
  const names = {
    as: "reader",
    "as-groups": ["a", "b"],
    "as-uid": "7",
    "as-user-extra": { "Example.org/Team": ["x"] },
  };
  const paths = [
    write("contexts", { contexts: [{ name: "lab", context: { cluster: "k", user: "ann" } }] }),
    write("clusters", { clusters: [{ name: "k", cluster: { server: "https://k.example" } }] }),
    write("users", { users: [{ name: "ann", user: { tokenFile: "token", ...names } }] }),
  ];
  const { credentials } = await kubeContext("lab", { KUBECONFIG: paths.join(":") });
  expect(await credentials.access()).toEqual({
    server: "https://k.example",
    tls: {},
    headers: {
      ...{ authorization: "Bearer from-a-file", "impersonate-user": "reader", "impersonate-group": ["a", "b"] },
      ...{ "impersonate-uid": "7", "impersonate-extra-example.org%2Fteam": ["x"] },
    },
  });
});
