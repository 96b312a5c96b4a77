import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeProfiles } from "../../../internal/terminal/places/profile-file.ts";
import { givenTo, usageErrorOf } from "../../../test/support/bridge/gt-usage.ts";
import { token } from "./token.ts";
import { readTokenOptions } from "./token-options.ts";

const MUST = ["--jwt-key", "k", "--jwt-issuer", "shop", "--project", "p"];
const read = (...argv: string[]) => readTokenOptions(givenTo(token, argv), { GT_ROLE: "mayor" });

it("requires key, issuer and project, and has defaults for the rest", () => {
  expect(read(...MUST)).toEqual({
    keyPath: "k",
    request: { issuer: "shop", project: "p", audience: "bridge", subject: "mayor", ttlMs: 300_000, scope: "operate" },
  });
  expect(
    read(...MUST, "--audience", "gt-sidecar", "--subject", "ci", "--scope", "read", "--ttl", "1m", "--cert", "c"),
  ).toEqual({
    keyPath: "k",
    certificatePath: "c",
    request: { issuer: "shop", project: "p", audience: "gt-sidecar", subject: "ci", ttlMs: 60_000, scope: "read" },
  });
});

it("takes missing settings from a profile", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "gt-token-"));
  const env = { HOME: folder.path, GT_ROLE: "mayor" };
  const work = { "jwt-key": "/k", "jwt-issuer": "shop", "jwt-audience": "gt-sidecar", project: "p" };
  writeProfiles(env, { current: "work", profiles: { work, other: { ...work, project: "q" } } });
  const given = (...argv: string[]) => readTokenOptions(givenTo(token, argv), env);
  expect(given()).toMatchObject({ keyPath: "/k", request: { issuer: "shop", project: "p", audience: "gt-sidecar" } });
  expect(given("--profile", "other", "--audience", "bridge").request).toMatchObject({
    project: "q",
    audience: "bridge",
  });
  expect(given("--project", "r").request).toMatchObject({ issuer: "shop", project: "r" });
});

it.each([
  [[], "--jwt-key is missing"],
  [["--jwt-key", "k", "--project", "p"], "--jwt-issuer is missing"],
  [["--jwt-key", "k", "--jwt-issuer", "shop"], "--project is missing"],
  [[...MUST, "--ttl", "6m"], "--ttl is between 1s and 5m"],
  [[...MUST, "--ttl", "0"], "--ttl is between 1s and 5m"],
  [[...MUST, "--audience", ""], "--audience is empty"],
  [[...MUST, "extra"], 'too many arguments: "extra"'],
])("refuses %j: %s", (argv, message) => {
  expect(usageErrorOf(() => read(...argv))[0]).toBe(message);
});

it("refuses an unknown scope", () => {
  expect(() => read(...MUST, "--scope", "admin")).toThrow('--scope takes operate, read or nudge, not "admin"');
});
