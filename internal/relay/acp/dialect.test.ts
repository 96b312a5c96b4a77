import { expect, it } from "vitest";
import { chooseDialect, knownSubprotocols } from "./dialect.ts";

it.each<[readonly string[], string | undefined, ReturnType<typeof chooseDialect>]>([
  [[], undefined, { dialect: "seed", subprotocol: undefined }],
  [[], "1.0", { dialect: "seed", subprotocol: undefined }],
  [[], "2.0", undefined],
  [["relay.seed"], undefined, { dialect: "seed", subprotocol: "relay.seed" }],
  [["mcp.sampling.2025-11-25"], "1.0", { dialect: "mcp", subprotocol: "mcp.sampling.2025-11-25" }],
  [["acp.v1"], undefined, { dialect: "acp", subprotocol: "acp.v1" }],
  [["unknown", "acp.v1", "relay.seed"], undefined, { dialect: "acp", subprotocol: "acp.v1" }],
  [["unknown"], undefined, undefined],
  [["bearer.abc"], undefined, undefined],
  [["bearer.abc", "relay.seed"], undefined, { dialect: "seed", subprotocol: "relay.seed" }],
])("chooses for %j with X-ACP-Version %s", (offered, version, choice) => {
  expect(chooseDialect(offered, version, { acp2: false })).toEqual(choice);
  expect(chooseDialect(offered, version, { acp2: true })).toEqual(choice);
});

it("knows the draft of version 2 only if it is enabled", () => {
  const choose = (acp2: boolean, ...offered: string[]) => chooseDialect(offered, undefined, { acp2 });
  expect(choose(false, "acp.v2")).toBeUndefined();
  expect(choose(false, "acp.v2", "acp.v1")).toEqual({ dialect: "acp", subprotocol: "acp.v1" });
  expect(choose(true, "acp.v2", "acp.v1")).toEqual({ dialect: "acp2", subprotocol: "acp.v2" });
  expect(choose(true, "acp.v1", "acp.v2")).toEqual({ dialect: "acp", subprotocol: "acp.v1" });
  const names = ["relay.seed", "mcp.sampling.2025-11-25", "acp.v1"];
  expect(knownSubprotocols({ acp2: false })).toEqual(names);
  expect(knownSubprotocols({ acp2: true })).toEqual([...names, "acp.v2"]);
});
