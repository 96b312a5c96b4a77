import { describe, expect, it } from "vitest";
import { addressed, missingOptional } from "./lock-file.ts";

const lock = (optional: string, ...present: string[]) => ({
  "node_modules/tool": { version: "1.0.0", optionalDependencies: { [optional]: "1.0.0" } },
  ...Object.fromEntries(present.map((path) => [path, { version: "1.0.0" }])),
});

describe("missingOptional", () => {
  it.each([
    ["@x/tool-darwin-arm64", { os: ["darwin"], cpu: ["arm64"] }],
    ["@x/tool-linux-x64-musl", { os: ["linux"], cpu: ["x64"], libc: ["musl"] }],
    ["@x/binding-linux-arm-musleabihf", { os: ["linux"], cpu: ["arm"], libc: ["musl"] }],
    ["@x/tool-linux-armv7", { os: ["linux"], cpu: ["arm"], libc: ["glibc"] }],
    ["tool-windows-x64-baseline", { os: ["win32"], cpu: ["x64"] }],
  ])("finds by its name where %s runs", (name, platform) => {
    expect(missingOptional(lock(name))).toEqual({
      [`node_modules/${name}`]: { version: "1.0.0", optional: true, ...platform },
    });
  });

  it("adds nothing for a package beside or below its dependent", () => {
    expect(missingOptional(lock("a-linux-x64", "node_modules/a-linux-x64"))).toEqual({});
    expect(missingOptional(lock("a-linux-x64", "node_modules/tool/node_modules/a-linux-x64"))).toEqual({});
  });

  it("refuses a name without a platform", () => {
    expect(() => missingOptional(lock("fast-things"))).toThrow(/platform of "fast-things"/);
  });
});

describe("addressed", () => {
  it("finds entries that name a registry", () => {
    expect(addressed({ a: { version: "1" }, b: { resolved: "x" } })).toEqual(["b"]);
  });
});
