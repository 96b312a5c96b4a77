import { describe, expect, it } from "vitest";
import { usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { parseFlags } from "../../cli/flags.ts";
import { readPlace } from "./place-config.ts";
import { PLACE_FLAGS } from "./place-flags.ts";

type Env = Record<string, string>;

const read = (argv: readonly string[], env: Env = {}) => readPlace(parseFlags(PLACE_FLAGS, argv, env).values, env);

const nowhere = { host: undefined, port: undefined, server: undefined, socket: undefined, localOnly: false };

describe("the place of an agent", () => {
  it.each<[string, Env, object]>([
    ["", {}, {}],
    ["", { GT_SIDECAR_HOST: "h", GT_SIDECAR_PORT: "7" }, { host: "h", port: 7 }],
    ["--host x", { GT_SIDECAR_HOST: "h", GT_SIDECAR_PORT: "7" }, { host: "x" }],
    ["--port 9", { GT_SERVER: "s" }, { port: 9 }],
    ["--server s", { GT_SIDECAR_HOST: "h" }, { server: "s:9445" }],
    ["--server https://s:8443/", {}, { server: "s:8443" }],
    ["", { GT_SERVER: "[::1]" }, { server: "[::1]:9445" }],
    ["", { GT_SERVER: "s", GT_SIDECAR_HOST: "h" }, { host: "h" }],
    ["--socket t", { GT_SIDECAR_HOST: "h", GT_SERVER: "s" }, { socket: "t", localOnly: true }],
    ["", { GT_TMUX_SOCKET: "t" }, { socket: "t" }],
    ["", { GT_TMUX_SOCKET: "", GT_SIDECAR_HOST: "" }, {}],
  ])("%j with %j is %j", (line, env, expected) => {
    const { host, port, server, socket, localOnly } = read(line.split(" ").filter(Boolean), env);
    expect({ host, port, server, socket, localOnly }).toEqual({ ...nowhere, ...expected });
  });

  it.each<[string, Env, object | undefined]>([
    ["--context prod", {}, { context: "prod", only: true }],
    ["--context prod --namespace n", { GT_SERVER: "s" }, { context: "prod", namespace: "n", only: true }],
    ["", { GT_KUBE_CONTEXT: "lab" }, { context: "lab", only: false }],
    ["--context prod", { GT_KUBE_CONTEXT: "lab" }, { context: "prod", only: true }],
    ["", { GT_KUBE_CONTEXT: "lab", GT_SERVER: "s" }, undefined],
    ["--port 1", { GT_KUBE_CONTEXT: "lab" }, undefined],
    ["--socket t", { GT_KUBE_CONTEXT: "lab" }, undefined],
  ])("%j with %j asks the cluster %j", (line, env, expected) => {
    expect(read(line.split(" ").filter(Boolean), env).cluster).toEqual(expected);
  });

  it.each([
    [["--namespace", "n"], "--namespace needs --context: it names a namespace of that cluster"],
    [
      ["--context", "a", "--server", "b"],
      "--context names a cluster, --host, --port, --server and --socket name other places: give only one of them",
    ],
    [["--context", ""], "--context is empty"],
    [
      ["--socket", "a", "--host", "b"],
      "--socket is for local tmux, --host, --port and --server are for other places: give only one of them",
    ],
    [["--port", "0"], "not a port: 0"],
    [["--host", "unix:/run/a.sock", "--port", "1"], "a unix socket has no port: omit --port (GT_SIDECAR_PORT)"],
  ])("is not %j: %s", (argv, message) => {
    expect(usageErrorOf(() => read(argv))[0]).toBe(message);
  });

  it("names the wrong variable", () => {
    expect(usageErrorOf(() => read([], { GT_SIDECAR_PORT: "x" }))[0]).toBe('GT_SIDECAR_PORT needs a port, not "x"');
  });
});
