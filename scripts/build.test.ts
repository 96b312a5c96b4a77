import { expect, it } from "vitest";
import { nodeCheck } from "./build.ts";

it("ends a binary on an older Node with a line that names the Node it needs", () => {
  const run = new Function("process", "console", nodeCheck("gt"));
  const onNode = (node: string) => {
    const did: (string | number)[] = [];
    const exit = (code: number) => did.push(code);
    run({ versions: { node }, version: `v${node}`, exit }, { error: (text: string) => did.push(text) });
    return did;
  };
  expect(onNode("20.20.2")).toEqual(["gt: error: this is Node v20.20.2, and 24 or newer is needed", 1]);
  expect(onNode("24.0.0")).toEqual([]);
  expect(onNode("26.1.0")).toEqual([]);
});
