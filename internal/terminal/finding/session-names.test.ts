import { describe, expect, it } from "vitest";
import { formatAddress, parseAgentAddress } from "./address.ts";
import { addressOfSession, chooseSession, sessionCandidates } from "./session-names.ts";
import type { Town } from "./town.ts";

const town: Town = {
  root: "/town",
  prefixes: new Map([
    ["gastown", "gt"],
    ["beads", "bd"],
    ["my-project", "mp"],
  ]),
};

function choose(text: string, live: readonly string[], where: Town | "none" = town): string | undefined {
  return chooseSession(parseAgentAddress(text), where === "none" ? undefined : where, new Set(live))?.session;
}

describe("chooseSession", () => {
  it.each([
    ["mayor", "hq-mayor"],
    ["deacon/", "hq-deacon"],
    ["gastown/witness", "gt-witness"],
    ["my-project/refinery", "mp-refinery"],
    ["gastown/crew/max", "gt-crew-max"],
    ["gastown/polecats/toast", "gt-toast"],
    ["gastown/toast", "gt-toast"],
    ["gastown/max", "gt-crew-max"],
    ["toast", "gt-toast"],
    ["gt-toast", "gt-toast"],
    ["hq-mayor", "hq-mayor"],
  ])("%s is the session %s", (text, session) => {
    expect(choose(text, ["hq-mayor", "hq-deacon", "gt-witness", "mp-refinery", "gt-crew-max", "gt-toast"])).toBe(
      session,
    );
  });

  it("prefers a crew member to a polecat of the same name", () => {
    expect(choose("gastown/max", ["gt-max", "gt-crew-max"])).toBe("gt-crew-max");
  });

  it("never chooses a session by the beginning of its name", () => {
    expect(choose("gastown/toast", ["gt-toast-2", "gt-toaster"])).toBeUndefined();
  });

  it("lists the agents if a name matches several", () => {
    expect(() => choose("toast", ["gt-toast", "bd-toast"])).toThrow(/gastown\/polecats\/toast, beads\/polecats\/toast/);
    expect(() => choose("toast", ["gt-toast", "gt-crew-toast"])).toThrow(
      /gastown\/crew\/toast, gastown\/polecats\/toast/,
    );
  });

  it("prefers the current rig if a name matches several", () => {
    expect(choose("toast", ["gt-toast", "bd-toast"], { ...town, cwdRig: "beads" })).toBe("bd-toast");
  });

  it("without a registry, knows the prefix of the rig gastown, and tries the names of other rigs as prefixes", () => {
    expect(choose("gastown/toast", ["gt-toast"], "none")).toBe("gt-toast");
    expect(choose("toast", ["gt-toast"], "none")).toBe("gt-toast");
    expect(choose("beads/toast", ["gt-toast"], "none")).toBeUndefined();
    expect(choose("beads/toast", ["gt-beads-toast"], "none")).toBe("gt-beads-toast");
    expect(choose("beads/crew/toast", ["beads-crew-toast"], "none")).toBe("beads-crew-toast");
  });

  it("never chooses a session of the default rig for an unregistered rig", () => {
    expect(choose("other/toast", ["gt-toast"])).toBeUndefined();
  });
});

describe("addressOfSession", () => {
  it.each([
    ["hq-mayor", "mayor"],
    ["hq-boot", "boot"],
    ["gt-witness", "gastown/witness"],
    ["mp-crew-ann", "my-project/crew/ann"],
    ["bd-toast", "beads/polecats/toast"],
    ["notes", "notes"],
  ])("%s is %s", (session, address) => {
    expect(formatAddress(addressOfSession(session, town))).toBe(address);
  });

  it("returns the address from which a session candidate was made", () => {
    const [[candidate] = []] = sessionCandidates(parseAgentAddress("my-project/polecats/x-1"), town);
    expect(formatAddress(addressOfSession(candidate?.session ?? "", town))).toBe("my-project/polecats/x-1");
  });
});
