import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { CaCache } from "../../internal/controller/certificates/ca-cache.ts";
import { newSessionsCa } from "../../internal/controller/certificates/ca-successor.ts";
import { SecretClient } from "../../internal/controller/certificates/secret-client.ts";
import { ControllerMetrics } from "../../internal/controller/sessions/controller-metrics.ts";
import { FakeKube } from "../../test/fakes/fake-kube.ts";
import { advanceUntil, caller, startOf } from "../../test/support/cluster/session-replica.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { silentLogger } from "../../test/support/silent-logger.ts";
import { readControllerConfig } from "./controller-config.ts";
import { ControllerSessions } from "./controller-sessions.ts";

const never = new AbortController().signal;
const PODS = "/api/v1/namespaces/agents/pods";
const CONFIG = `
trust_domain: town.example
ca: {namespace: gastown-ca, secret: gastown-ca}
namespaces: [{name: agents, project: shop}]
providers: {demo: {image: "agent:1"}}
`;

it("reads a session's Secret at most three times during the start, not at each change of its pod", async () => {
  const clock = new FakeClock();
  const kube = new FakeKube(() => clock.now());
  const { settings } = readControllerConfig(CONFIG, "controller.yaml");
  const { cert, key } = await newSessionsCa("town.example", clock.now());
  const data = { "ca.crt": cert, "ca.key": key };
  const encoded = Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]);
  kube.set("/api/v1/namespaces/gastown-ca/secrets", {
    metadata: { name: "gastown-ca" },
    data: Object.fromEntries(encoded),
  });
  const ca = new CaCache(
    { clock, logger: silentLogger, secrets: new SecretClient(kube), onChanged: () => {} },
    settings.ca,
  );
  const metrics = new ControllerMetrics(new Registry());
  const made = new ControllerSessions(
    {
      api: kube,
      writes: kube,
      assertLeads: () => {},
      clock,
      logger: silentLogger,
      ca,
      tls: () => undefined,
      metrics,
      env: {},
    },
    { settings, allowClients: () => [], namespace: "gastown-system" },
  );
  const stop = new AbortController();
  const running = [made.backend.run(stop.signal), made.lead(stop.signal), ca.run(stop.signal)];
  await advanceUntil(clock, () => made.isSynced && ca.isKnown);
  let started = false;
  void made.backend.start(startOf("one"), caller, never).then(() => {
    started = true;
  });
  await advanceUntil(clock, () => started, 10_000);
  for (const phase of ["Scheduled", "Creating", "Pulling", "Started", "Ready", "Running"]) {
    const [pod] = kube.list(PODS);
    if (pod !== undefined) kube.set(PODS, { ...pod, status: { phase } });
    await clock.advance(500);
  }
  const reads = kube.requests.filter(({ method, path }) => method === "GET" && /\/agents\/secrets\/./.test(path));
  // Reads by the replica that starts the session, and by the leader.
  expect(reads.length).toBeLessThanOrEqual(3);
  stop.abort(new Error("test ends"));
  await Promise.allSettled(running);
});
