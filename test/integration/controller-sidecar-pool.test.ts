import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { SidecarLink } from "../../internal/bridge/sidecar-link.ts";
import { observePod } from "../../internal/controller/pods/observed-pod.ts";
import type { SessionRecord } from "../../internal/controller/pods/session-record.ts";
import { SidecarPool } from "../../internal/controller/pods/sidecar-pool.ts";
import {
  SidecarPeekRequestSchema,
  SidecarService,
  SidecarWatchRequestSchema,
} from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarDnsName, sidecarId } from "../../internal/pki/trust-domain.ts";
import type { ResponseBudget } from "../../internal/rpc/client/response-budget.ts";
import { type SidecarConnection, sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { FaultyRelay } from "../support/bridge/faulty-relay.ts";
import { ASK, startRpcServer } from "../support/bridge/rpc-server.ts";
import { eventually } from "../support/eventually.ts";

const TOWN = "town.example";
const SIDECAR_PORT = 9090;
const never = new AbortController().signal;

/**
 * Starts a server at a pod's address with the certificate of the session `named`; returns the result of a call for
 * `one`.
 */
async function callOf(named: string, dnsOf: string, ca: TestCa, trusted = ca, trustedThere = trusted) {
  const host = `127.${[0, 0, 0].map(() => 2 + Math.floor(Math.random() * 250)).join(".")}`;
  const names = { uris: [sidecarId(TOWN, "agents", named)], dns: [sidecarDnsName(TOWN, "agents", dnsOf)] };
  const tls = ca.issue({ ...names, usages: ["server"] });
  await using server = await startRpcServer({ host, port: SIDECAR_PORT, tls: { ...tls, ca: trustedThere.pem } });
  const own = trusted.issue({ uris: [`spiffe://${TOWN}/ns/system/controller`] });
  using pool = new SidecarPool({ tls: () => own }, { trustDomain: TOWN });
  const pod = observePod({ metadata: { name: "agent", namespace: "agents", uid: "u1" }, status: { podIP: host } });
  const key = { project: "shop", id: "one" };
  const binding = { name: "agents", project: "shop", templates: new Map(), credentials: "secret" } as const;
  const record: SessionRecord = { key, pod, binding, isOwn: true };
  const request = create(SidecarPeekRequestSchema, { lines: 1 });
  const outcome = await pool
    .link(record)
    .unary(SidecarService.method.peek, request, { identity: "test" }, never)
    .then(
      ({ output }) => output,
      (err: { readonly kind: string }) => err.kind,
    );
  return { outcome, peers: server.peers.length };
}

it("a sidecar is called at the pod's address when its certificate names the session", async () => {
  expect(await callOf("one", "one", new TestCa("town"))).toEqual({ outcome: "line\n", peers: 1 });
});

it.for([
  ["another session by both names", "two", "two"],
  ["another session, by the DNS name of this one", "two", "one"],
  ["this session, by the DNS name of another", "one", "two"],
])(
  "a server is not called when its certificate names %s, as after a pod's address was reused",
  async ([, uri, dns]) => {
    const { outcome, peers } = await callOf(uri as string, dns as string, new TestCa("town"));
    expect(outcome).toBe("unavailable"); // a caller's own credentials are not in question
    expect(peers).toBe(0);
  },
);

it("a server is not called when another trust domain's CA signed its certificate", async () => {
  const { outcome, peers } = await callOf("one", "one", new TestCa("other"), new TestCa("town"));
  expect(outcome).toBe("unavailable"); // a caller's own credentials are not in question
  expect(peers).toBe(0);
});

it("a sidecar that refuses the controller's certificate is unavailable to a caller with valid credentials", async () => {
  const ca = new TestCa("town");
  const { outcome, peers } = await callOf("one", "one", ca, ca, new TestCa("other"));
  expect(outcome).toBe("unavailable");
  expect(peers).toBe(0);
});

/** Reads a stream to its end: updates may be on their way. */
async function toEnd(stream: AsyncIterator<unknown>): Promise<void> {
  while ((await stream.next()).done !== true);
}

it("a sidecar that stops responding is unavailable to the calls on its connection, and the cause names it", async () => {
  await using server = await startRpcServer({});
  await using relay = await FaultyRelay.to(server.port);
  const baseUrl = `http://127.0.0.1:${relay.port}`;
  using connection = sidecarTransport({ baseUrl, pingIntervalMs: 30, pingTimeoutMs: 300 });
  const link = new SidecarLink(connection);
  const stream = link.stream(
    SidecarService.method.watchOutput,
    create(SidecarWatchRequestSchema, { lines: ASK.wait }),
    { identity: "test", role: "operate" } as const,
    never,
  );
  await stream.next();
  const read = toEnd(stream);
  const request = create(SidecarPeekRequestSchema, { lines: ASK.wait });
  const peek = link.unary(SidecarService.method.peek, request, { identity: "test" }, never);
  await eventually("both calls to be with the server", () => server.open() === 2);
  relay.all("freeze");
  const away = {
    ...{ kind: "unavailable", message: "the session's sidecar cannot be reached now", fields: { session: "away" } },
    cause: expect.objectContaining({ rawMessage: `the server at 127.0.0.1:${relay.port} does not answer a PING` }),
  };
  await Promise.all([read, peek].map((call) => expect(call).rejects.toMatchObject(away)));
});

it("arriving answers may hold 32 MiB per sidecar, 64 MiB per project and 96 MiB in total", () => {
  const budgets: ResponseBudget[] = [];
  const connect = (options: Parameters<typeof sidecarTransport>[0]): SidecarConnection => {
    if (options.responseBudget) budgets.push(options.responseBudget);
    return sidecarTransport(options);
  };
  using pool = new SidecarPool({ tls: () => undefined, connect }, { trustDomain: TOWN });
  const sessions = [
    ...["u1", "u2", "u3"].map((id) => ({ project: "shop", id })),
    ...["u4", "u5"].map((id) => ({ project: "desk", id })),
  ];
  for (const key of sessions) {
    const binding = {
      name: key.project,
      project: key.project,
      templates: new Map(),
      credentials: "plaintext",
    } as const;
    const metadata = { name: key.id, namespace: key.project, uid: key.id };
    const pod = observePod({ metadata, status: { podIP: "127.0.0.1" } });
    pool.link({ key, pod, binding, isOwn: true });
  }
  const mebibyte = 1024 * 1024;
  const took = budgets.map((budget) => {
    let taken = 0;
    try {
      for (; taken < 200; taken++) budget.take(mebibyte);
    } catch {
      // no more bytes
    }
    return taken;
  });
  expect(took).toEqual([32, 32, 0, 32, 0]);
});
