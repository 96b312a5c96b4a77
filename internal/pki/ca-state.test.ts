import { expect, it } from "vitest";
import { type CaState, NEW_CA_STATE, parseState, stateText } from "./ca-state.ts";

const STATE: CaState = {
  crlNumber: 7,
  issued: [{ serial: "0A", name: "shop", type: "client", notAfter: Date.UTC(2027, 0, 1) }],
  revoked: [{ serial: "0B", at: Date.UTC(2026, 0, 1), reason: "key-compromise", notAfter: Date.UTC(2027, 0, 1) }],
};

it.each([["new", NEW_CA_STATE] as const, ["used", STATE] as const])(
  "of a %s CA is read as it was written",
  (_, state) => {
    expect(parseState(stateText(state), "ca.state.json")).toEqual(state);
  },
);

it.each(["state", "issued", "revoked"])(
  "with an unknown key, in %s, is refused by name instead of being dropped",
  (place) => {
    const text = stateText(STATE);
    const before = { state: '"version"', issued: '"name"', revoked: '"reason"' }[place] ?? "";
    const changed = text.replace(before, `"hold": true, ${before}`);
    expect(changed).not.toBe(text);
    expect(() => parseState(changed, "ca.state.json")).toThrow(
      'ca.state.json has the key "hold", which is not known here',
    );
  },
);

it.each(["", "{}", "null", '{"version":2}'])("that is %j is refused as damaged", (text) => {
  expect(() => parseState(text, "ca.state.json")).toThrow("ca.state.json is not the state of a CA, or is damaged");
});
