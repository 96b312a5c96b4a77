import { afterEach, beforeEach, expect } from "vitest";
import type { Collection } from "../../../internal/kube/collection.ts";
import type { KubeRequest } from "../../../internal/kube/kube-api.ts";
import { Reflector } from "../../../internal/kube/reflector.ts";
import { FakeKube } from "../../fakes/fake-kube.ts";
import { FakeClock, settle } from "../fake-clock.ts";
import { silentLogger } from "../silent-logger.ts";

export const PODS_PATH = "/api/v1/namespaces/a/pods";
export const isWatch = (request: KubeRequest) => request.query?.["watch"] === true;

export let clock: FakeClock;
export let kube: FakeKube;
export let deltas: string[];
export let stop: AbortController;
export let running: Promise<void>;
export let reflector: Reflector<string>;

/** Call once in each file that uses this. */
export function useReflectorBed(): void {
  beforeEach(() => {
    [clock, kube, deltas, stop] = [new FakeClock(), new FakeKube(), [], new AbortController()];
    running = Promise.resolve();
  });
  afterEach(async () => {
    stop.abort(new Error("test ends"));
    await running;
    expect(clock.sleeping).toBe(0);
    expect(kube.watches).toEqual([]);
  });
}

export async function startReflector(collection: Partial<Collection<string>> = {}): Promise<void> {
  const project = (object: unknown) => (object as { readonly status?: string }).status ?? "none";
  reflector = new Reflector(
    {
      api: kube,
      clock,
      logger: silentLogger,
      random: () => 0.5,
      onDelta: ({ type, object }) => deltas.push(`${type} ${object.key} ${object.uid} ${object.value}`),
    },
    { path: PODS_PATH, project, ...collection },
  );
  running = reflector.run(stop.signal);
  await reflectorSettled();
}
export const reflectorSettled = async () => {
  for (let i = 0; i < 5; i++) await settle();
};
export const pod = (name: string, status: string, uid?: string) =>
  kube.set(PODS_PATH, { metadata: { name, uid }, status });
export const storedKeys = () => [...reflector.store.values()].map(({ key, value }) => `${key} ${value}`);
export const lists = () => kube.requests.filter((request) => !isWatch(request));
export const watches = () => kube.requests.filter(isWatch);
export const cluster = () => kube.list(PODS_PATH).map((each) => `a/${each.metadata.name} ${each["status"]}`);
