import { describe, expect, it } from "vitest";
import { clientRules, controllerId } from "./settings.ts";

describe("the clients of a sidecar", () => {
  const town = { trustDomain: "town.example", directRead: true };
  const controllers = `${controllerId("town.example", "system")}=operate`;
  const callers = [
    { issuer: "shop", projects: ["shop"] },
    { issuer: "desk", projects: ["desk", "shop"] },
    { issuer: "other", projects: ["other"] },
    { issuer: "every" },
  ];

  it("are its own controllers, and the callers of its project as readers if that is configured", () => {
    expect(clientRules(town, callers, "system")("shop")).toEqual([
      controllers,
      "spiffe://town.example/client/shop=read",
      "spiffe://town.example/client/desk=read",
      "spiffe://town.example/client/every=read",
    ]);
  });

  it("are otherwise its own controllers alone, and never those of another namespace", () => {
    expect(clientRules({ ...town, directRead: false }, callers, "system")("shop")).toEqual([
      "spiffe://town.example/ns/system/controller=operate",
    ]);
  });

  it.for(["*", "a/b", "a,spiffe://town.example/client/b", "a=operate", ""])(
    "do not include a caller with the name %j, which a rule would read as more than a name",
    (issuer) => {
      expect(clientRules(town, [{ issuer }], "system")("shop")).toEqual([controllers]);
    },
  );
});
