import { describe, expect, it } from "vitest";
import { parseBead } from "./bead-record.ts";

function place(bead: Record<string, unknown>) {
  return parseBead(JSON.stringify([{ id: "gt-gastown-polecat-toast", ...bead }]))?.place;
}

const k8s = { backend: "k8s", sidecar_host: "10.0.0.7", sidecar_port: "9090" };

describe("the place of an agent as its bead states it", () => {
  it("is read from metadata, with the port as text or number", () => {
    expect(place({ metadata: k8s })).toEqual({ type: "k8s", host: "10.0.0.7", port: 9090 });
    expect(place({ metadata: { ...k8s, sidecar_port: 9090 } })).toEqual({ type: "k8s", host: "10.0.0.7", port: 9090 });
  });

  it("is read from lines of the notes, then of the description", () => {
    const lines = "started by mayor\nbackend: k8s\n  sidecar_host:  toast.pods.svc \nsidecar_port: 9090\n";
    expect(place({ notes: lines })).toEqual({ type: "k8s", host: "toast.pods.svc", port: 9090 });
    expect(place({ notes: "nothing here", description: lines })).toMatchObject({ type: "k8s" });
  });

  it("is decided by the first source with a backend, which also provides host and port", () => {
    expect(place({ metadata: { backend: "local" }, notes: "backend: k8s" })).toEqual({ type: "local" });
    expect(place({ metadata: { backend: "k8s" }, notes: "sidecar_host: a\nsidecar_port: 1" })).toMatchObject({
      type: "malformed",
    });
  });

  it.each([
    {},
    { metadata: {} },
    { metadata: null, notes: null },
    { metadata: { backend: "" } },
    { metadata: { backend: "tmux" } },
  ])("is local for %j", (bead) => {
    expect(place(bead)).toEqual({ type: "local" });
  });

  it.each([
    { backend: "k8s" },
    { ...k8s, sidecar_host: "" },
    { ...k8s, sidecar_host: "a b" },
    { ...k8s, sidecar_host: "-rf" },
    { ...k8s, sidecar_host: "user@host" },
    { ...k8s, sidecar_host: "host/path" },
    { ...k8s, sidecar_host: { a: 1 } },
    { ...k8s, sidecar_port: "" },
    { ...k8s, sidecar_port: "0" },
    { ...k8s, sidecar_port: "65536" },
    { ...k8s, sidecar_port: "90 90" },
    { ...k8s, backend: "ssh" },
    { sidecar_host: "10.0.0.7", sidecar_port: "9090" },
    { backend: "bridge", bridge_server: "host:9445" },
    { backend: "bridge", bridge_server: "host", sidecar_session: "s1" },
    { backend: "bridge", bridge_server: "user@host:9445", sidecar_session: "s1" },
    { backend: "bridge", bridge_server: "host:0", sidecar_session: "s1" },
    { backend: "bridge", bridge_server: "host:9445", sidecar_session: "a b" },
  ])("is never local for %j", (metadata) => {
    expect(place({ metadata })?.type).toBe("malformed");
  });

  it.each(["bridge.example.com:9445", "[fd00::7]:9445", "10.0.0.7:1"])(
    "is a session of the control plane %s",
    (server) => {
      const metadata = { backend: "bridge", bridge_server: server, sidecar_session: "s1" };
      expect(place({ metadata })).toEqual({ type: "bridge", server, session: "s1" });
    },
  );

  it("takes an IPv6 host", () => {
    expect(place({ metadata: { ...k8s, sidecar_host: "fd00::7" } })).toMatchObject({ host: "fd00::7" });
  });

  it.each(["", "{}", "[]", "[null]", "null", "Error: x", '["x"]'])("is unknown if the output is %j", (text) => {
    expect(parseBead(text)).toBeUndefined();
  });

  it("comes with whether the agent is muted", () => {
    const bead = (level: string) =>
      parseBead(JSON.stringify([{ description: `role: x\nnotification_level: ${level}` }]));
    expect(bead("muted")?.muted).toBe(true);
    expect(bead("normal")?.muted).toBe(false);
  });
});
