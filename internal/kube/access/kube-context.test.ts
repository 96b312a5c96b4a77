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
  ["prod", [one, two], "https://two.example"],
  ["prod", [absent, two], "https://two.example"],
] as const)("%s is that of the first file of %j that has it", async (name, paths, server) => {
  const { credentials, namespace } = await kubeContext(name, { KUBECONFIG: paths.join(":") });
  expect(await credentials.access()).toMatchObject({ server, headers: { authorization: "Bearer t" } });
  expect(namespace).toBe(`of-${name}`);
});

it.each([
  ["no such context", { KUBECONFIG: `${one}:${two}` }, "not-found", /no context "none"; there are: lab, lab, prod/],
  ["no file", { HOME: dir }, "precondition", /there is no kubeconfig: .*\.kube\/config does not exist/],
  ["neither variable", {}, "precondition", /KUBECONFIG and HOME are not set/],
])("says that there is %s", async (_, env, kind, message) => {
  await expect(kubeContext("none", env)).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
});
