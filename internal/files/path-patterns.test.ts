import { expect, it } from "vitest";
import { pathPattern } from "./path-patterns.ts";

const matches = (pattern: string, path: string) => pathPattern(pattern)(path.split("/").slice(1));

it.each([
  ["/docs/**", "/docs/a.md", true],
  ["/docs/**", "/docs/a/b/c.md", true],
  ["/docs/**", "/docs-private/a.md", false],
  ["/docs/**", "/Docs/a.md", false],
  ["/docs/*.md", "/docs/a.md", true],
  ["/docs/*.md", "/docs/a/b.md", false],
  ["/docs/*.md", "/docs/.md", true],
  ["/docs/a*b*c", "/docs/abc", true],
  ["/docs/a*b*c", "/docs/axxbxxcxxc", true],
  ["/docs/a*a", "/docs/a", false],
  ["/docs/**/x", "/docs/x", true],
  ["/docs/**/x", "/docs/a/b/x", true],
  ["/docs/**/x", "/docs/a/b/xy", false],
  ["/docs/%61.md", "/docs/a.md", false],
])("%s matches %s: %s", (pattern, path, expected) => expect(matches(pattern, path)).toBe(expected));

it("takes time proportional to the product of the two numbers of parts", () => {
  const pattern = `/docs${"/**/a*".repeat(200)}/b`;
  expect(matches(pattern, `/docs${"/aaaa".repeat(200)}`)).toBe(false);
});

it.each(["docs/**", "/docs/../admin/**", "/docs//**", "/docs/a**", "/docs/"])("refuses %s", (pattern) =>
  expect(() => pathPattern(pattern)).toThrow("absolute path"),
);
