import { expect, it } from "vitest";
import { chooseDialect } from "./dialect.ts";

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
  expect(chooseDialect(offered, version)).toEqual(choice);
});
