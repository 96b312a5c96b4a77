import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { podManifests } from "./pod-manifests.ts";

it.for(Object.entries(podManifests()))(
  "deploy/k8s/%s matches the output of the builder of the controller's pods",
  ([name, text]) => {
    expect(readFileSync(new URL(`../../deploy/k8s/${name}`, import.meta.url), "utf8")).toBe(text);
  },
);
