import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type IncomingHttpHeaders, createServer as plainServer } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { TestCa } from "../support/bridge/certificates.ts";
import { gt } from "../support/bridge/gt-transcript.ts";
import { type RunningSidecar, startSidecar } from "../support/sidecar/sidecar.ts";

const stack = new AsyncDisposableStack();
let sidecar: RunningSidecar;
let dir: string;
let env: Readonly<Record<string, string>>;
const seen: IncomingHttpHeaders[] = [];
const tunnels: string[] = [];

const PORT_FORWARD = /^\/api\/v1\/namespaces\/agents\/pods\/toast\/portforward\?ports=\d+$/;

/** An API server that knows one pod, whose sidecar is on this machine. */
const POD = {
  metadata: {
    ...{ namespace: "agents", name: "toast", uid: "u-1", resourceVersion: "1" },
    labels: { "gastown.io/agent": "demo", "gastown.io/provider": "demo" },
    annotations: { "gastown.io/address": "test/polecats/demo" },
  },
  spec: { nodeName: "n", containers: [{ name: "agent", env: [{ name: "GT_SIDECAR_INSECURE", value: "1" }] }] },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-kubeconfig-"));
  stack.defer(() => rm(dir, { recursive: true }));
  sidecar = stack.use(await startSidecar({ address: "test/polecats/demo", env: { GT_SESSION_ID: "u-1" } }));
  const ca = new TestCa("cluster");
  const { cert, key } = ca.issue({ dns: ["cluster.example"], usages: ["server"] });
  const api = await listening(apiServer({ cert, key }));
  const proxy = await listening(proxyTo(api));
  await writeFile(join(dir, "ca.crt"), ca.pem);
  await mkdir(join(dir, "users"));
  await writeFile(join(dir, "users", "plugin"), PLUGIN);
  await chmod(join(dir, "users", "plugin"), 0o755);
  const cluster = {
    ...{ server: "https://cluster.example:6443", "certificate-authority": "ca.crt" },
    "proxy-url": `http://127.0.0.1:${proxy}`,
  };
  const context = { cluster: "lab", user: "ann", namespace: "agents" };
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin", interactiveMode: "Never" };
  const user = { exec, as: "agents-reader", "as-groups": ["readers", "on-call"] };
  const files = {
    clusters: { clusters: [{ name: "lab", cluster }], contexts: [{ name: "lab", context }] },
    "users/config": { users: [{ name: "ann", user }], clusters: [{ name: "lab", cluster: { server: "https://no" } }] },
  };
  for (const [name, said] of Object.entries(files)) await writeFile(join(dir, name), JSON.stringify(said));
  env = {
    ...{ PATH: process.env["PATH"] ?? "", HOME: dir, XDG_RUNTIME_DIR: join(dir, "none") },
    KUBECONFIG: Object.keys(files)
      .map((name) => join(dir, name))
      .join(":"),
  };
});
afterAll(() => stack.disposeAsync());

/** Returns a token only to a caller that names its protocol version, as vendors' plug-ins do. */
const PLUGIN = `#!/bin/sh
case "$KUBERNETES_EXEC_INFO" in *client.authentication.k8s.io/v1*) ;; *) exit 1 ;; esac
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-the-plugin"}}'
`;

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function apiServer(tls: { readonly cert: string; readonly key: string }): Server {
  const server = createServer(tls, (request, response) => {
    seen.push(request.headers);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ kind: "PodList", metadata: { resourceVersion: "1" }, items: [POD] }));
  });
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "v4.channel.k8s.io" });
  server.on("upgrade", (request, socket, head) => {
    seen.push(request.headers);
    if (!PORT_FORWARD.test(request.url ?? "")) return socket.destroy();
    sockets.handleUpgrade(request, socket, head, (ws) => {
      for (const channel of [0, 1]) ws.send(Buffer.of(channel, 0, 0));
      const to = connect(sidecar.port, sidecar.host);
      to.on("data", (data) => ws.send(Buffer.concat([Buffer.of(0), data])));
      to.on("close", () => ws.close()).on("error", () => ws.close());
      ws.on("message", (message: Buffer) => to.write(message.subarray(1)));
      ws.on("close", () => to.destroy()).on("error", () => to.destroy());
    });
  });
  return server;
}

function proxyTo(port: number): Server {
  return plainServer((_request, response) => response.writeHead(405).end()).on("connect", (request, socket, head) => {
    tunnels.push(request.url ?? "");
    const to = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      to.write(head);
      socket.pipe(to).pipe(socket);
    });
    to.on("error", () => socket.destroy());
    socket.on("error", () => to.destroy());
  });
}

it("gt peek --context uses two merged files, groups, an exec plug-in and a proxy", async () => {
  const { code, stdout, stderr } = await gt(
    ["peek", "test/polecats/demo", "--context", "lab", "--insecure-plaintext"],
    env,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("Demo agent");
  expect(new Set(tunnels)).toEqual(new Set(["cluster.example:6443"]));
  expect(seen.length).toBeGreaterThan(1);
  for (const headers of seen) {
    expect(headers).toMatchObject({
      ...{ authorization: "Bearer from-the-plugin", "impersonate-user": "agents-reader" },
      "impersonate-group": "readers, on-call",
    });
  }
});

it("gt names the entry that the files do not define", async () => {
  await writeFile(join(dir, "bare"), await readFile(join(dir, "clusters")));
  const asked = gt(["peek", "test/polecats/demo", "--context", "lab", "--insecure-plaintext"], {
    ...env,
    KUBECONFIG: join(dir, "bare"),
  });
  expect(await asked).toMatchObject({ code: 2, stderr: expect.stringMatching(/bare has no user "ann"/) });
});
