import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { AuditLog } from "./audit-log.ts";

function auditing() {
  const lines: string[] = [];
  const audit = new AuditLog({ clock: new FakeClock(), write: (line) => lines.push(line) });
  const context = {
    ...{ service: { typeName: "bridge.v1.BridgeService" }, method: { name: "GetSession" } },
    values: createContextValues(),
  } as HandlerContext;
  return { audit, context, lines };
}

it("keeps a line short, however long the names in a request are", () => {
  const { audit, context, lines } = auditing();
  audit.policy(context, { session: "s".repeat(200_000), project: "p".repeat(200_000) }, undefined);
  audit.policy(context, { session: "s".repeat(128), project: "p1" }, undefined);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { session: `${"s".repeat(128)}…`, session_project: `${"p".repeat(128)}…` },
    { session: "s".repeat(128), session_project: "p1" },
  ]);
});

it("writes a hostile id as one printable line without losing any of it", () => {
  const { audit, context, lines } = auditing();
  const session = "a\nb\x1b[2J\x9b2J\x9d0;title\u202ec\u2028d";
  audit.policy(context, { session }, undefined);
  expect(lines.join("")).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\n./);
  expect(JSON.parse(lines.join(""))).toMatchObject({ session });
});
