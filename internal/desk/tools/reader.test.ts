import { expect, it } from "vitest";
import { pathsIn } from "./reader.ts";

it.each([
  ["read /admin/prices.md", ["/admin/prices.md"]],
  ["read /docs/a.md, /docs/b.md.", ["/docs/a.md", "/docs/b.md"]],
  ["what is in `/docs/a.md`?", ["/docs/a.md"]],
  ["read /docs/../admin/x and /docs/%2e%2e/x", ["/docs/../admin/x", "/docs/%2e%2e/x"]],
  ["either/or", []],
  ["/a /a /b", ["/a", "/b"]],
  [Array.from({ length: 20 }, (_, i) => `/p${i}`).join(" "), ["/p0", "/p1", "/p2", "/p3", "/p4", "/p5", "/p6", "/p7"]],
])("finds the paths in %j", (text, paths) => expect(pathsIn(text)).toEqual(paths));
