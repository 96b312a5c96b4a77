import { describe, expect, it } from "vitest";
import { DomainError } from "../../base/errors.ts";
import { type AgentTemplate, DEFAULT_RESOURCES, DEFAULT_SIDECAR_RESOURCES } from "../pods/agent-template.ts";
import { podName } from "../pods/names.ts";
import { agentPod } from "../pods/pod-template.ts";
import type { NamespaceBinding } from "../pods/settings.ts";
import { sessionPodPlan, type WantedSession } from "./session-pod.ts";

const TEMPLATE: AgentTemplate = {
  image: "registry.example/agent:1",
  imagePullSecrets: [],
  agent: "claude",
  command: [],
  env: { MODEL: "small" },
  envFrom: [{ type: "secret", name: "api-key", optional: false }],
  options: { model: { env: "MODEL" }, effort: { env: "EFFORT", values: ["low", "high"] } },
  isolation: "embedded",
  resources: DEFAULT_RESOURCES,
  sidecarResources: DEFAULT_SIDECAR_RESOURCES,
  workspace: { type: "empty-dir", sizeLimit: "2Gi" },
  graceMs: 20_000,
  user: 10001,
  placement: { nodeSelector: {}, tolerations: [] },
};

const SESSION: WantedSession = {
  id: "one",
  provider: "claude",
  repoPath: "/workspace",
  agentOpts: {},
  startedBy: "spiffe://town/client/shop",
};

const OPTIONS = {
  retentionMs: 600_000,
  allowClients: (project: string) => [`spiffe://town/client/${project}=read`],
  hasTokens: false,
};

function bound(change: Partial<AgentTemplate> = {}, binding: Partial<NamespaceBinding> = {}): NamespaceBinding {
  const templates = new Map([["claude", { ...TEMPLATE, ...change }]]);
  return { name: "agents", project: "shop", templates, credentials: "secret", ...binding };
}

const pod = (session: Partial<WantedSession> = {}, binding = bound()) =>
  agentPod(sessionPodPlan({ ...SESSION, ...session }, binding, OPTIONS));
const env = (of: ReturnType<typeof pod>, container = 0) =>
  Object.fromEntries((of.spec?.containers[container]?.env ?? []).map(({ name, value }) => [name, value]));

describe("a session's pod", () => {
  it("lets the callers of its namespace's project call its sidecar", () => {
    const admitted = (project: string) => env(pod({}, bound({}, { project })))["GT_ALLOW_CLIENTS"];
    expect([admitted("shop"), admitted("desk")]).toEqual([
      "spiffe://town/client/shop=read",
      "spiffe://town/client/desk=read",
    ]);
  });

  it("carries the session's labels, without its project", () => {
    const { labels } =
      pod({ address: "shop/polecats/toast", rig: "shop", role: "polecat", bead: "gt-1" }).metadata ?? {};
    expect(labels).toEqual({
      "gastown.io/agent": "toast",
      "gastown.io/session": "one",
      "gastown.io/provider": "claude",
      "gastown.io/rig": "shop",
      "gastown.io/role": "polecat",
      "gastown.io/bead-id": "gt-1",
      "app.kubernetes.io/managed-by": "gastown",
    });
  });

  it.for(["embedded", "containers"] as const)(
    "mounts the agent's token only in the agent's container, isolation %s",
    (isolation) => {
      const tokens = (binding: NamespaceBinding) =>
        agentPod(sessionPodPlan(SESSION, binding, { ...OPTIONS, hasTokens: true })).spec;
      const spec = tokens(bound({ isolation }));
      const name = `${podName("shop", SESSION.id)}-token`;
      expect(spec?.volumes).toContainEqual({
        name: "session",
        secret: { secretName: name, defaultMode: 0o440, optional: true },
      });
      const [agent] = spec?.containers ?? [];
      expect(agent?.volumeMounts).toContainEqual({ name: "session", mountPath: "/etc/gt/session", readOnly: true });
      expect(agent?.env).toContainEqual({ name: "GT_THREADS_TOKEN_FILE", value: "/etc/gt/session/token" });
      const others = spec?.initContainers?.flatMap(({ volumeMounts }) => volumeMounts ?? []) ?? [];
      expect(others.map((mount) => mount.name)).not.toContain("session");
      if (isolation === "containers") expect(agent?.volumeMounts?.map((mount) => mount.name)).not.toContain("tls");
      expect(JSON.stringify(tokens(bound({}, { credentials: "plaintext" })))).not.toContain("GT_THREADS_TOKEN_FILE");
    },
  );

  it.for(["embedded", "containers"] as const)(
    "gives agent and sidecar the threads server's URL, the agent's token file and the CA, isolation %s",
    (isolation) => {
      const url = "https://threads.system.svc:9448";
      const options = { ...OPTIONS, hasTokens: true, threadsUrl: url };
      const spec = agentPod(sessionPodPlan(SESSION, bound({ isolation }), options)).spec;
      const halves = [spec?.containers[0], ...(isolation === "containers" ? [spec?.initContainers?.at(-1)] : [])];
      for (const half of halves) {
        expect(half?.env?.filter(({ name }) => name.startsWith("GT_THREADS"))).toEqual([
          { name: "GT_THREADS", value: url },
          { name: "GT_THREADS_TOKEN_FILE", value: "/etc/gt/session/token" },
          { name: "GT_THREADS_CA", value: "/etc/gt/session/ca.crt" },
        ]);
      }
      const plain = agentPod(sessionPodPlan(SESSION, bound({ isolation }, { credentials: "plaintext" }), options));
      expect(JSON.stringify(plain)).not.toContain("GT_THREADS");
    },
  );

  it("takes the address from the option `agent`, and refuses a role that agents may not have", () => {
    const { metadata, spec } = pod({ agentOpts: { agent: "fixer" } });
    expect(metadata?.annotations).toMatchObject({ "gastown.io/address": "fixer" });
    expect(metadata?.labels).toMatchObject({ "gastown.io/agent": "fixer", "gastown.io/session": "one" });
    expect(spec?.containers[0]?.env).toContainEqual({ name: "GT_AGENT_ADDRESS", value: "fixer" });
    expect(() => pod({ agentOpts: { role: "reviewer" } })).toThrow("agents may not have the role");
  });

  it("keeps an id that is not a valid label in an annotation", () => {
    const id = "x".repeat(128);
    const { labels, annotations } = pod({ id }).metadata ?? {};
    expect(labels?.["gastown.io/session"]).toMatch(/^[0-9a-f]{32}$/);
    expect(annotations?.["gastown.io/session-id"]).toBe(id);
  });

  it("waits behind a scheduling gate for its certificate, and serves for ten minutes longer than the retention", () => {
    const made = pod();
    expect(made.spec?.schedulingGates).toEqual([{ name: "gastown.io/certificate" }]);
    expect(env(made)).toMatchObject({
      GT_SIDECAR_LINGER: "1200s",
      GT_TLS_DIR: "/etc/gt/tls",
      GT_SESSION_ID: "one",
      GT_PROJECT: "shop",
    });
  });

  it("serves in plaintext, without a gate or a Secret, if its namespace is configured so", () => {
    const made = pod({}, bound({}, { credentials: "plaintext" }));
    expect(made.spec?.schedulingGates).toBeUndefined();
    expect(made.spec?.volumes?.some(({ secret }) => secret !== undefined)).toBe(false);
    expect(env(made)).toMatchObject({ GT_SIDECAR_INSECURE: "1" });
    expect(env(made)).not.toHaveProperty("GT_TLS_DIR");
  });

  it("mounts the key only for the sidecar, and gives the agent's secrets only to the agent, if their containers are separate", () => {
    const spec = pod({}, bound({ isolation: "containers" })).spec;
    const mounts = (name: string) =>
      [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
        .find((one) => one.name === name)
        ?.volumeMounts?.map((one) => one.name);
    expect(mounts("agent")).not.toContain("tls");
    expect(mounts("sidecar")).toContain("tls");
    const sidecar = spec?.initContainers?.find(({ name }) => name === "sidecar");
    expect(sidecar).toMatchObject({ restartPolicy: "Always", args: ["serve"] });
    expect(sidecar?.envFrom).toBeUndefined();
    expect(spec?.containers[0]?.envFrom).toEqual([{ secretRef: { name: "api-key" } }]);
  });

  it("mounts no service account token", () => {
    expect(pod().spec?.automountServiceAccountToken).toBe(false);
  });

  it("is the same for the same session, whatever the order of its options", () => {
    const one = pod({ agentOpts: { model: "a", effort: "low" } });
    expect(pod({ agentOpts: { effort: "low", model: "a" } }).metadata).toEqual(one.metadata);
  });
});

describe("a folder in the workspace", () => {
  it("is created before the agent starts in it", () => {
    const made = pod({ repoPath: "/workspace/shop/../desk" });
    expect(made.spec?.initContainers?.[0]?.command).toEqual(["mkdir", "-p", "--", "/workspace/desk"]);
    expect(env(made)).toMatchObject({ GT_AGENT_WORKDIR: "/workspace/desk" });
  });

  it("is cloned from git with arguments that no shell expands", () => {
    const workspace = {
      type: "git",
      sizeLimit: "1Gi",
      url: "https://git.example/$(A);rm",
      depth: 1,
      path: "/workspace/shop",
    } as const;
    const command = pod({ repoPath: "/workspace/shop" }, bound({ workspace })).spec?.initContainers?.[0]?.command;
    expect(command?.slice(3)).toEqual([
      "clone",
      "/workspace/shop",
      "clone",
      "--depth",
      "1",
      "--",
      "https://git.example/$$(A);rm",
    ]);
  });

  it("is cloned through the template's proxy, with the agent's resources and without the agent's secrets", () => {
    const workspace = { type: "git", sizeLimit: "1Gi", url: "https://a/b", depth: 1, path: "/workspace/shop" } as const;
    const resources = { requests: { cpu: "1" }, limits: { cpu: "2", memory: "4Gi" } };
    const proxy = { HTTPS_PROXY: "http://proxy:3128", HOME: "/home/agent" };
    const [clone] = pod({}, bound({ workspace, resources, env: proxy })).spec?.initContainers ?? [];
    expect(clone).toMatchObject({ name: "clone", resources });
    expect(Object.fromEntries((clone?.env ?? []).map(({ name, value }) => [name, value]))).toEqual({
      ...{ HTTPS_PROXY: "http://proxy:3128", HOME: "/tmp", GIT_TERMINAL_PROMPT: "0" },
    });
    expect(clone?.envFrom).toBeUndefined();
  });

  it.for(["/etc", "/workspace/../etc", "/workspaces", "/"])("%s is outside the workspace and denied", (repoPath) => {
    expect(() => pod({ repoPath })).toThrow(expect.objectContaining({ kind: "denied" }));
  });

  it.for(["workspace", "", "/workspace/a\nb", `/workspace/${"a".repeat(2000)}`])("%j is not a path", (repoPath) => {
    expect(() => pod({ repoPath })).toThrow(expect.objectContaining({ kind: "invalid" }));
  });
});

describe("a caller's options", () => {
  it("become the agent's environment and override the template's", () => {
    expect(env(pod({ agentOpts: { model: "large", mode: "terminal" } }))).toMatchObject({ MODEL: "large" });
  });

  it("reach the agent unchanged, although the kubelet replaces $(NAME)", () => {
    expect(env(pod({ agentOpts: { model: "$(ANTHROPIC_API_KEY)" } }))).toMatchObject({
      MODEL: "$$(ANTHROPIC_API_KEY)",
    });
  });

  it.for([
    [{ image: "evil" }, "invalid"],
    [{ constructor: "x" }, "invalid"],
    [{ effort: "extreme" }, "invalid"],
    [{ model: "a\nb" }, "invalid"],
    [{ mode: "stdio" }, "precondition"],
  ] as const)("%j are refused as %s", ([agentOpts, kind]) => {
    expect(() => pod({ agentOpts })).toThrow(expect.objectContaining({ kind }));
  });
});

it("lists the available providers if another one is requested", () => {
  const start = () => pod({ provider: "codex" });
  expect(start).toThrow(DomainError);
  expect(start).toThrow(expect.objectContaining({ kind: "precondition", fields: { hint: "providers here: claude" } }));
});
