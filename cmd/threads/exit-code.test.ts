import { createServer } from "node:net";
import { expect, it } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { listen } from "../../internal/rpc/port/listen.ts";
import { threadsExitCode } from "./exit-code.ts";

it("is 1 for an address in use", async () => {
  const place = { host: "127.0.0.1", port: 0 };
  await using first = createServer();
  const { port } = await listen(first, place);
  const failure = await listen(createServer(), { ...place, port }).catch((err: unknown) => err);
  expect(threadsExitCode(failure as DomainError)).toBe(1);
});

it.each([
  ["a database that cannot be reached", "unavailable", {}, 3],
  ["a database that ends a call", "deadline", { code: "UNAVAILABLE" }, 3],
  ["a missing PostgreSQL", "not-found", { problem: "no-postgres" }, 3],
  ["a certificate that cannot be used", "invalid", { problem: "key" }, 4],
  ["a missing key", "not-found", {}, 4],
  ["a folder in use", "unavailable", { problem: "folder" }, 5],
  ["a wrong flag", "invalid", {}, undefined],
] as const)("of %s (%s) is %j: %j", (_what, kind, fields, code) => {
  expect(threadsExitCode(new DomainError(kind, "", { fields }))).toBe(code);
});
