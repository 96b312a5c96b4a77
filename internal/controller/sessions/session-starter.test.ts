import { describe, expect, it } from "vitest";
import { eachTown, PODS, type ReplicatedSessions } from "../../../test/support/cluster/replicated-sessions.ts";
import { bindingOf, caller, startOf as request } from "../../../test/support/cluster/session-replica.ts";
import { LABELS } from "../pods/names.ts";

const never = new AbortController().signal;

describe("starts of several projects", () => {
  let town: ReplicatedSessions;
  eachTown((made) => {
    town = made;
  });

  it("do not wait for a project in whose namespace the admission of pods hangs", async () => {
    const bindings = [bindingOf("agents", "demo"), { ...bindingOf("more", "demo"), project: "desk" }];
    const { sessions } = await town.replica({ bindings });
    town.kube.fault = ({ method, path }) => (method === "POST" && path === PODS ? "hang" : undefined);
    const stop = new AbortController();
    const hanging = Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => sessions.start(request(`s${i}`), caller, stop.signal)),
    );
    const started = await town.settled(sessions.start(request("one", { project: "desk" }), caller, never));
    expect(started.status).toBe("fulfilled");
    const lanes = town.kube.requests.filter(({ method }) => method === "POST").map(({ path, lane }) => [path, lane]);
    expect(lanes.filter(([path]) => path?.endsWith("/pods")).every(([, lane]) => lane === "creates")).toBe(true);
    expect(lanes.at(-1)).toEqual(["/api/v1/namespaces/more/secrets", undefined]);
    stop.abort(new Error("enough"));
    await hanging;
  });

  it("near the limit of one project read no namespaces of others", async () => {
    const bindings = [
      bindingOf("agents", "demo"),
      bindingOf("also", "demo"),
      { ...bindingOf("more", "demo"), project: "desk" },
    ];
    const { sessions } = await town.replica({ bindings, maxPerProject: 10 });
    await town.clock.advance(1_000);
    const before = town.kube.requests.length;
    await town.done(sessions.start(request("one"), caller, never));
    const lists = town.kube.requests.slice(before).filter(({ query }) => query?.["labelSelector"] !== undefined);
    expect(lists.map(({ path }) => path)).toEqual(["/api/v1/namespaces/also/pods"]);
  });

  it("do not wait while another project is full of foreign pods", async () => {
    const adopting = { ...bindingOf("agents", "demo"), adoption: { accounts: [] } };
    const bindings = [adopting, { ...bindingOf("more", "demo"), project: "desk" }];
    for (let i = 0; i < 120; i++) town.kube.set(PODS, { metadata: { name: `p${i}`, labels: { [LABELS.agent]: "a" } } });
    const { sessions } = await town.replica({ bindings });
    const started = await town.settled(sessions.start(request("one", { project: "desk" }), caller, never));
    expect(started.status).toBe("fulfilled");
    await expect(town.done(sessions.start(request("one"), caller, never))).rejects.toMatchObject({ kind: "exhausted" });
  });
});
