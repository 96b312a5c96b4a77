import { expect, it } from "vitest";
import { parentOfSockets } from "./temporary-folder.ts";

it.each([
  { usual: "/tmp", parent: "/tmp" },
  { usual: `/${"a".repeat(77)}`, parent: `/${"a".repeat(77)}` },
  { usual: `/${"a".repeat(78)}`, parent: "/tmp" },
  { usual: `/scratch/${"ü".repeat(40)}`, parent: "/tmp" },
])("puts sockets that belong in $usual into $parent", ({ usual, parent }) => {
  expect(parentOfSockets("gt-start-XXXXXX/control.sock", usual)).toBe(parent);
});
