import { describe, expect, it } from "vitest";
import { clientRules, controllerId } from "./settings.ts";

describe("who may call a sidecar", () => {
  const town = { trustDomain: "town.example", directRead: true };

  it("is its own controllers, and callers that read where that is configured", () => {
    expect(clientRules(town, "system")).toEqual([
      `${controllerId("town.example", "system")}=operate`,
      "spiffe://town.example/client/*=read",
    ]);
  });

  it("is its own controllers alone otherwise, and never those of another namespace", () => {
    expect(clientRules({ ...town, directRead: false }, "system")).toEqual([
      "spiffe://town.example/ns/system/controller=operate",
    ]);
  });
});
