import { describe, expect, it } from "vitest";
import type { BeadLookup } from "../../beads/bead.ts";
import type { AgentPod, AgentPods } from "./agent-pods.ts";
import type { LocalSidecar } from "./local-sidecars.ts";
import { type AgentQuery, listPlaces, type ResolveDeps, resolvePlace, splitListen } from "./resolve-place.ts";
import type { Town } from "./town.ts";

const signal = new AbortController().signal;
const town: Town = { root: "/town", prefixes: new Map([["gastown", "gt"]]) };

function sidecar(agent: string, change: Partial<LocalSidecar> = {}): LocalSidecar {
  const sessionId = `id-${agent.replaceAll("/", "-")}`;
  return {
    agent,
    listen: "127.0.0.1:9090",
    pid: 1,
    sessionId,
    project: "p",
    provider: "demo",
    tls: false,
    startedAt: 0,
    ...change,
  };
}

interface World {
  readonly bead?: BeadLookup;
  readonly tmux?: Readonly<Record<string, readonly string[]>>;
  readonly sidecars?: readonly LocalSidecar[];
  readonly pods?: readonly AgentPod[];
  readonly onlyPods?: boolean;
}

function world(what: World): ResolveDeps {
  const tmux = what.tmux ?? {};
  return {
    town,
    socketPaths: Object.keys(tmux),
    lookUpBead: async () => what.bead ?? { type: "absent" },
    listSessions: async (path) => tmux[path] ?? [],
    listSidecars: async () => what.sidecars ?? [],
    pods: what.pods && cluster(what.pods, what.onlyPods ?? false),
  };
}

const cluster = (pods: readonly AgentPod[], only: boolean): AgentPods => {
  return { where: 'context "prod"', only, find: async () => pods, list: async () => pods };
};

function pod(agent: string, session: string, change: Partial<AgentPod> = {}): AgentPod {
  const facts = { provider: "demo", node: "n", status: "running", reason: "", error: "", tls: true } as const;
  return { namespace: "agents", name: `pod-${session}`, agent, session, ...facts, ...change };
}

function find(agent: string, what: World, query: Partial<AgentQuery> = {}) {
  return resolvePlace({ agent, localOnly: false, ...query }, world(what), signal);
}

const k8s: BeadLookup = { type: "k8s", id: "b", muted: false, host: "10.0.0.7", port: 9099 };
const everything: World = { bead: k8s, tmux: { "/s": ["gt-toast"] }, sidecars: [sidecar("gastown/polecats/toast")] };

describe("the place of an agent", () => {
  it("is what the flags say, whatever else is known", async () => {
    expect(await find("gastown/toast", everything, { host: "h", port: 1 })).toMatchObject({
      host: "h",
      port: 1,
      source: "flags",
    });
    expect(await find("toast", everything, { host: "h" })).toMatchObject({ host: "h", port: 9090 });
    expect(await find("toast", everything, { port: 7 })).toMatchObject({ host: "127.0.0.1", port: 7 });
  });

  it("is what its bead says, before local tmux", async () => {
    expect(await find("gastown/toast", everything)).toMatchObject({
      type: "sidecar",
      host: "10.0.0.7",
      port: 9099,
      source: "bead",
    });
  });

  it("is what a bead with that exact id says, if nothing here has the name", async () => {
    const lookUpBead = async (ids: readonly string[]) => (ids.includes("gt-9") ? k8s : ({ type: "absent" } as const));
    const resolve = (what: World, localOnly = false) =>
      resolvePlace({ agent: "gt-9", localOnly }, { ...world(what), lookUpBead }, signal);
    expect(await resolve({ tmux: { "/s": ["other"] } })).toMatchObject({ host: "10.0.0.7", source: "bead" });
    expect(await resolve({ sidecars: [sidecar("gt-9")] })).toMatchObject({ source: "this machine" });
    await expect(resolve({}, true)).rejects.toMatchObject({ kind: "not-found" });
  });

  it("is a local tmux session, before a local sidecar", async () => {
    const place = await find("gastown/toast", { ...everything, bead: { type: "local", id: "b", muted: true } });
    expect(place).toEqual({
      type: "tmux",
      agent: "gastown/polecats/toast",
      socketPath: "/s",
      session: "gt-toast",
      muted: true,
    });
  });

  it("is the first tmux server that has the session", async () => {
    const tmux = { "/a": ["x"], "/b": ["gt-toast"], "/c": ["gt-toast"] };
    expect(await find("toast", { tmux })).toMatchObject({ socketPath: "/b" });
  });

  it("is a sidecar of this machine, by address, by name alone or by session id", async () => {
    const what = {
      sidecars: [sidecar("gastown/polecats/toast", { tls: true }), sidecar("demo", { listen: "[::]:9191" })],
    };
    expect(await find("gastown/polecats/toast", what)).toMatchObject({
      agent: "gastown/polecats/toast",
      port: 9090,
      tls: true,
    });
    expect(await find("toast", what)).toMatchObject({ agent: "gastown/polecats/toast" });
    expect(await find("gastown/toast", what)).toMatchObject({ agent: "gastown/polecats/toast" });
    expect(await find("id-demo", what)).toMatchObject({ agent: "demo", host: "::1", port: 9191 });
  });

  it("is only searched in local tmux if a socket was given by flag", async () => {
    expect(await find("toast", everything, { localOnly: true })).toMatchObject({ type: "tmux" });
    await expect(find("demo", { sidecars: [sidecar("demo")] }, { localOnly: true })).rejects.toMatchObject({
      kind: "not-found",
    });
  });
});

describe("an agent in a cluster whose context is named", () => {
  const pods = [pod("gastown/polecats/toast", "s-1")];
  const place = {
    type: "sidecar",
    source: "cluster",
    pod: { namespace: "agents", name: "pod-s-1" },
    session: "s-1",
    tls: true,
    muted: false,
  };

  it("is its pod, before local tmux and after its address by flag", async () => {
    expect(await find("toast", { ...everything, bead: { type: "absent" }, pods })).toMatchObject(place);
    expect(await find("toast", { ...everything, pods }, { host: "h" })).toMatchObject({ source: "flags" });
  });

  it("is the pod of the session that its bead names, or else at the bead's address", async () => {
    const bead = { ...k8s, session: "s-1" };
    expect(await find("toast", { bead, pods: [...pods, pod("gastown/polecats/toast", "s-2")] })).toMatchObject(place);
    expect(await find("toast", { bead: { ...k8s, session: "s-3" }, pods })).toMatchObject({ source: "bead" });
  });

  it("is searched locally if the cluster has none, unless the context was given by flag", async () => {
    const what = { ...everything, bead: { type: "absent" } as const, pods: [pod("mayor", "s-9")] };
    expect(await find("toast", what)).toMatchObject({ type: "tmux" });
    await expect(find("toast", { ...what, onlyPods: true })).rejects.toMatchObject({
      kind: "not-found",
      message: 'context "prod" has no agent "toast"; running there: mayor',
    });
  });

  it("is not searched there if a socket was given by flag", async () => {
    expect(await find("toast", { ...everything, pods }, { localOnly: true })).toMatchObject({ type: "tmux" });
  });

  it("is listed together with those of this machine, or alone", async () => {
    const names = async (onlyPods: boolean) =>
      (await listPlaces(world({ ...everything, pods, onlyPods }), { localOnly: false }, signal)).agents.map(
        ({ type }) => type,
      );
    expect((await names(false)).sort()).toEqual(["pod", "sidecar", "tmux"]);
    expect(await names(true)).toEqual(["pod"]);
  });
});

describe("an agent that cannot be resolved", () => {
  it("is never searched locally if its bead cannot be understood", async () => {
    const bead: BeadLookup = { type: "error", id: "b", message: "bead b is odd", hint: "mend it" };
    await expect(find("toast", { ...everything, bead })).rejects.toMatchObject({
      kind: "precondition",
      message: "bead b is odd",
      fields: { hint: "mend it" },
    });
  });

  it("is reported as not found, with the existing ones", async () => {
    const what = { tmux: { "/s": ["gt-nux", "my-notes", "hq-mayor"] }, sidecars: [sidecar("demo")] };
    await expect(find("toast", what)).rejects.toMatchObject({
      kind: "not-found",
      message: 'no agent "toast"; running here: demo, gastown/polecats/nux, mayor',
    });
    await expect(find("toast", {})).rejects.toThrow('no agent "toast"; no agent is running here');
    await expect(find("toast", { tmux: { "/s": ["my-notes", "work"] } })).rejects.toThrow(
      /no agent is running here under a name of Gas Town's; .* by theirs: my-notes, work$/,
    );
  });

  it("is ambiguous if two sidecars match", async () => {
    const what = { sidecars: [sidecar("a/polecats/toast"), sidecar("b/polecats/toast")] };
    await expect(find("toast", what)).rejects.toThrow(/a\/polecats\/toast \(session .*\), b\/polecats\/toast/);
  });

  it("is refused if the name is not an address", async () => {
    await expect(find("a b", everything)).rejects.toMatchObject({ kind: "invalid" });
    await expect(find("a b", everything, { host: "h" })).rejects.toMatchObject({ kind: "invalid" });
  });
});

describe("listPlaces", () => {
  const what = { tmux: { "/s": ["gt-nux", "my-notes"] }, sidecars: [sidecar("demo")] };

  it("leaves out a person's own tmux sessions, and names them separately", async () => {
    const { agents, otherSessions } = await listPlaces(world(what), { localOnly: false }, signal);
    expect(agents.map((one) => one.agent)).toEqual(["demo", "gastown/polecats/nux"]);
    expect(otherSessions).toEqual(["my-notes"]);
  });

  it("lists every session of a requested server", async () => {
    const { agents } = await listPlaces(world(what), { localOnly: true }, signal);
    expect(agents.map((one) => one.agent)).toEqual(["gastown/polecats/nux", "my-notes"]);
  });
});

it.each([
  ["127.0.0.1:9090", { host: "127.0.0.1", port: 9090 }],
  ["0.0.0.0:1", { host: "127.0.0.1", port: 1 }],
  ["[::1]:9090", { host: "::1", port: 9090 }],
  ["unix:/run/a/b.sock", { host: "localhost", port: 0, path: "/run/a/b.sock" }],
])("a listener on %s is reached at %j", (listen, expected) => {
  expect(splitListen(listen)).toEqual(expected);
});
