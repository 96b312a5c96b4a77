import { describe, expect, it } from "vitest";
import { FakeKube } from "../../../test/fakes/fake-kube.ts";
import { isHelmRelease } from "./tear-down.ts";

const WHERE = { namespace: "system", deployment: "town" };
const never = new AbortController().signal;

describe("the hook that Helm runs before it uninstalls a release", () => {
  it.for([
    ["was installed by Helm", { annotations: { "meta.helm.sh/release-name": "town" } }, true],
    ["was applied as rendered text, hooks included", { annotations: { note: "x" } }, false],
    ["was applied as rendered text, without any annotation", {}, false],
    ["has lost its Deployment", undefined, true],
  ] as const)("detects whether a release that %s belongs to Helm", async ([, metadata, isHelms]) => {
    const kube = new FakeKube();
    const deployments = "/apis/apps/v1/namespaces/system/deployments";
    if (metadata !== undefined) kube.set(deployments, { metadata: { name: "town", ...metadata } });
    expect(await isHelmRelease(kube, WHERE, never)).toBe(isHelms);
  });

  it("does not guess if the API server does not answer", async () => {
    const kube = new FakeKube();
    kube.fault = () => ({ status: 500 });
    await expect(isHelmRelease(kube, WHERE, never)).rejects.toThrow();
  });
});
