import { describe, expect, it } from "vitest";
import { FakeKube } from "../../test/fakes/fake-kube.ts";
import type { KubeApi, KubeRequest } from "./kube-api.ts";
import { listPages } from "./list-pages.ts";

const path = "/api/v1/namespaces/a/pods";
const never = new AbortController().signal;
const project = (object: unknown) => (object as { readonly status?: string }).status;

/** Answers with these pages, one after the other, as the transport does. */
function pages(...all: readonly Record<string, unknown>[]): KubeApi & { readonly requests: KubeRequest[] } {
  const requests: KubeRequest[] = [];
  const call = async (request: KubeRequest) => {
    const { items, ...page } = all[requests.push(request) - 1] ?? {};
    return { ...page, items: Array.isArray(items) && request.keep ? items.map(request.keep) : items };
  };
  return { requests, call, stream: () => never as never };
}

describe("a list that is read in pages", () => {
  it("continues where each page says, and returns the resource version of the last page", async () => {
    const pod = (name: string) => ({ metadata: { name, resourceVersion: "1" }, status: name });
    const api = pages(
      { items: [pod("a")], metadata: { resourceVersion: "7", continue: "next" } },
      { items: [pod("b")], metadata: { resourceVersion: "8", continue: "" } },
    );
    const { objects, resourceVersion } = await listPages(api, { path, project }, never, 1);
    expect(objects.map(({ key, value }) => [key, value])).toEqual([
      ["a", "a"],
      ["b", "b"],
    ]);
    expect(resourceVersion).toBe("8");
    expect(api.requests.map(({ query }) => query)).toEqual([{ limit: 1 }, { limit: 1, continue: "next" }]);
  });

  it("skips invalid objects and those that the projection drops", async () => {
    const metadata = { name: "a", resourceVersion: "1" };
    const items = [null, 7, "x", [], {}, { metadata: {} }, { metadata: { name: "a" } }, { metadata }];
    const api = pages({ items: [...items, { metadata, status: "up" }], metadata: { resourceVersion: "1" } });
    const { objects } = await listPages(api, { path, project }, never);
    expect(objects.map(({ value }) => value)).toEqual(["up"]);
  });

  it.each([{}, { items: null, metadata: { resourceVersion: "1" } }, { items: [] }, { items: [], metadata: {} }])(
    "is refused if the answer is %j",
    async (page) => {
      await expect(listPages(pages(page), { path, project }, never)).rejects.toMatchObject({ kind: "unavailable" });
    },
  );

  it("fails as gone if the server dropped the version of the list between two pages", async () => {
    const kube = new FakeKube();
    for (const name of ["a", "b", "c"]) kube.set(path, { metadata: { name }, status: "up" });
    kube.after = () => {
      kube.set(path, { metadata: { name: "d" }, status: "up" });
      kube.compact();
    };
    const failure = listPages(kube, { path, project }, never, 2);
    await expect(failure).rejects.toMatchObject({ fault: "gone" });
  });
});
