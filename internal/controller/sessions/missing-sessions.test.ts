import { describe, expect, it } from "vitest";
import { eachTown, PODS, type ReplicatedSessions } from "../../../test/support/cluster/replicated-sessions.ts";
import { caller, type Replica, startOf as request } from "../../../test/support/cluster/session-replica.ts";

const never = new AbortController().signal;
const unavailable = expect.objectContaining({ kind: "unavailable" });

describe("a session that a replica does not know", () => {
  let town: ReplicatedSessions;
  eachTown((made) => {
    town = made;
  });
  const ask = (replica: Replica, id: string) => replica.sessions.confirmMissing(request(id), never);

  /** A replica that hears nothing more over its watches, and does not notice, and another that has started "one". */
  async function deafReplica(): Promise<Replica> {
    const first = await town.replica();
    const own = town.kube.watches.length;
    const deaf = await town.replica();
    for (const watch of town.kube.watches.slice(own)) watch.isSilent = true;
    await town.done(first.sessions.start(request("one"), caller, never));
    expect(deaf.sessions.get(request("one"))).toBeUndefined();
    return deaf;
  }

  it("is not denied if the API server has it, or does not answer", async () => {
    const deaf = await deafReplica();
    await expect(town.done(ask(deaf, "one"))).rejects.toEqual(unavailable);
    for (const fault of ["reset", { status: 500 }, { status: 403, reason: "Forbidden" }] as const) {
      town.kube.fault = () => fault;
      await expect(town.done(ask(deaf, "none"))).rejects.toEqual(unavailable);
    }
    expect(town.kube.requests.at(-1)).toMatchObject({ method: "GET", timeoutMs: 1000 });
  });

  it("does not exist if the API server says so", async () => {
    const deaf = await deafReplica();
    await town.done(ask(deaf, "none"));
    expect(deaf.sessions.get(request("none"))).toBeUndefined();
  });

  it("is known once its event has arrived", async () => {
    const [first, second] = [await town.replica(), await town.replica()];
    await town.done(first.sessions.start(request("one"), caller, never));
    await town.done(ask(second, "one"));
    expect(second.sessions.get(request("one"))).toMatchObject({ id: "one" });
  });

  it("is looked up in bursts of forty, and then twenty times a second; the watch decides about the others", async () => {
    const replica = await town.replica();
    const asked = () =>
      town.kube.requests.filter(({ method, path }) => method === "GET" && path.startsWith(`${PODS}/`));
    await Promise.all(Array.from({ length: 100 }, (_, i) => ask(replica, `none-${i}`)));
    expect(asked()).toHaveLength(40);
    await town.clock.advance(1000);
    await Promise.all(Array.from({ length: 100 }, (_, i) => ask(replica, `none-${i}`)));
    expect(asked()).toHaveLength(60);
  });
});
