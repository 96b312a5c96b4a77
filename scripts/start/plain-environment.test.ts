import { expect, it } from "vitest";
import { plainEnvironment } from "./plain-environment.ts";

it("removes the variables npm_* and INIT_CWD and npm's folders in PATH, and nothing else", () => {
  const npm = { npm_config_cache: "/c", npm_lifecycle_event: "start", INIT_CWD: "/w", NODE: "/usr/bin/node" };
  const path = "/w/node_modules/.bin:/node_modules/.bin:/npm/node-gyp-bin:/home/me/node_modules/.bin:/usr/bin";
  expect(plainEnvironment({ ...npm, PATH: path, HOME: "/home/me" }, "/w")).toEqual({
    NODE: "/usr/bin/node",
    PATH: "/home/me/node_modules/.bin:/usr/bin",
    HOME: "/home/me",
  });
});
