import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { AuditLog } from "./audit-log.ts";

it("keeps a line short however long the names of a request are", () => {
  const lines: string[] = [];
  const audit = new AuditLog({ clock: new FakeClock(), write: (line) => lines.push(line) });
  const context = {
    ...{ service: { typeName: "bridge.v1.BridgeService" }, method: { name: "GetSession" } },
    values: createContextValues(),
  } as HandlerContext;
  audit.policy(context, { session: "s".repeat(200_000), project: "p".repeat(200_000) }, undefined);
  audit.policy(context, { session: "s".repeat(128), project: "p1" }, undefined);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { session: `${"s".repeat(128)}…`, session_project: `${"p".repeat(128)}…` },
    { session: "s".repeat(128), session_project: "p1" },
  ]);
});
