import { expect, it } from "vitest";
import { callerIdentity } from "./caller-identity.ts";

it.each([
  ["prd-manager", "app", "prd-manager/app"],
  ["prd", "team/app@host", "prd/team/app@host"],
  ["https://id.example", "alice", "https:%2F%2Fid.example/alice"],
  ["prd", "an app", "prd/an%20app"],
  ["prd", "ä%", "prd/%C3%A4%25"],
])("of issuer %s and subject %s is %s", (issuer, subject, name) => {
  expect(callerIdentity({ issuer, subject })).toBe(name);
});

it("differs if issuer and subject are divided elsewhere", () => {
  const names = [
    callerIdentity({ issuer: "a/b", subject: "c" }),
    callerIdentity({ issuer: "a", subject: "b/c" }),
    callerIdentity({ issuer: "a%2Fb", subject: "c" }),
  ];
  expect(new Set(names).size).toBe(3);
});

it("fits a header, and still differs, if names are long", () => {
  const names = ["x", "y"].map((end) => callerIdentity({ issuer: "i".repeat(256), subject: "s".repeat(255) + end }));
  expect(names[0]).not.toBe(names[1]);
  for (const name of names) expect(name).toMatch(/^[\x21-\x7e]{1,256}$/);
});
