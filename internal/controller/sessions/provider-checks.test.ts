import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { KubeApiError, KubeUnreachableError } from "../../kube/kube-errors.ts";
import { type AgentTemplate, DEFAULT_RESOURCES, DEFAULT_SIDECAR_RESOURCES } from "../pods/agent-template.ts";
import type { NamespaceBinding } from "../pods/settings.ts";
import { ProviderChecks } from "./provider-checks.ts";

const TEMPLATE: AgentTemplate = {
  image: "agent:1",
  imagePullSecrets: [],
  command: [],
  env: {},
  envFrom: [],
  options: {},
  isolation: "embedded",
  resources: DEFAULT_RESOURCES,
  sidecarResources: DEFAULT_SIDECAR_RESOURCES,
  workspace: { type: "empty-dir", sizeLimit: "1Gi" },
  graceMs: 20_000,
  user: 10001,
  placement: { nodeSelector: {}, tolerations: [] },
};
const never = new AbortController().signal;
const binding = (name: string, project: string, ...providers: string[]): NamespaceBinding => ({
  name,
  project,
  templates: new Map(providers.map((provider) => [provider, TEMPLATE])),
  credentials: "secret",
});
const refusal = (status: number, message: string) =>
  new KubeApiError("POST /pods", status, { reason: "Forbidden", message, causes: [] });

describe("the providers of a project", () => {
  let clock: FakeClock;
  let fault: Error | undefined;
  let asked: string[];
  let wait: Promise<void> | undefined;
  let checks: ProviderChecks;
  const of = async (project = "shop") =>
    (await checks.of(project, never)).map(({ provider, available, error }) => [provider, available, error]);

  beforeEach(() => {
    clock = new FakeClock();
    [fault, asked, wait] = [undefined, [], undefined];
    const tryCreate = async (namespace: string) => {
      asked.push(namespace);
      await wait;
      if (fault !== undefined) throw fault;
    };
    const bindings = [
      binding("one", "shop", "claude"),
      binding("two", "shop", "claude", "codex"),
      binding("x", "desk"),
      binding("three", "mixed", "opencode", "codex"),
      binding("four", "mixed", "claude"),
    ];
    checks = new ProviderChecks(
      { clock, client: { tryCreate } },
      { bindings, retentionMs: 0, allowClients: () => [], hasTokens: false },
    );
  });

  it("are those with a template, checked where a session would start, and not again for a minute", async () => {
    expect(await of()).toEqual([
      ["claude", true, ""],
      ["codex", true, ""],
    ]);
    await of();
    expect(asked).toEqual(["one", "two"]);
    await clock.advance(60_000);
    await of();
    expect(asked).toHaveLength(4);
    expect(await of("desk")).toEqual([]);
  });

  it("are ordered by name, whatever the order of the configuration", async () => {
    expect((await of("mixed")).map(([provider]) => provider)).toEqual(["claude", "codex", "opencode"]);
  });

  it.for([
    [403, 'pods "a" is forbidden: exceeded quota: pods, requested: pods=1', "QuotaExceeded: "],
    [403, 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation', "PodSecurity: "],
    [422, "ValidatingAdmissionPolicy 'x' denied the request: no", "AdmissionRefused: "],
    [404, 'namespaces "one" not found', "CreateFailed: "],
  ] as const)(
    "are unavailable with the reason if the cluster answers %i %s, and are checked again soon",
    async ([status, message, reason]) => {
      fault = refusal(status, message);
      const [first] = await of();
      expect(first).toEqual(["claude", false, expect.stringContaining(reason)]);
      expect(first?.[2]).toContain(message);
      fault = undefined;
      expect(await of()).toEqual([first, expect.anything()]);
      await clock.advance(5_000);
      expect((await of())[0]).toEqual(["claude", true, ""]);
    },
  );

  it("are checked again at once after a refused start, and while the cluster does not answer", async () => {
    await of();
    fault = new KubeUnreachableError("POST /pods", { code: "ECONNREFUSED" });
    checks.forget("shop");
    expect((await of())[0]).toEqual(["claude", false, expect.stringContaining("does not answer")]);
    fault = undefined;
    expect((await of())[0]).toEqual(["claude", true, ""]);
  });

  it("are checked once for many simultaneous callers, even if one of them leaves", async () => {
    const answer = Promise.withResolvers<void>();
    wait = answer.promise;
    const leaving = new AbortController();
    const left = checks.of("shop", leaving.signal);
    const all = Promise.all(Array.from({ length: 20 }, () => of()));
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    answer.resolve();
    expect(new Set((await all).map((each) => JSON.stringify(each))).size).toBe(1);
    expect(asked).toEqual(["one", "two"]);
  });

  it("are available if a session has the name that is checked", async () => {
    fault = new KubeApiError("POST /pods", 409, { reason: "AlreadyExists", message: "", causes: [] });
    expect((await of())[0]).toEqual(["claude", true, ""]);
  });
});
