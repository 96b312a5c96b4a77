import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { AuditLog } from "../../auth/audit-log.ts";
import type { TokenClaims } from "../../auth/token-claims.ts";
import { tokenKey } from "../../auth/token-gate.ts";
import type { VerifiedToken } from "../../auth/token-verifier.ts";
import { DomainError } from "../../base/errors.ts";
import { BridgeService } from "../../gen/bridge/v1/bridge_pb.ts";
import { correlationKey } from "../../rpc/server/call-facts.ts";
import { CallAccess } from "./call-access.ts";

it("tells a caller that is refused the id that the audit log has of it, and nothing of another project's session", () => {
  const lines: string[] = [];
  const audit = new AuditLog({ clock: new FakeClock(), write: (line) => lines.push(line) });
  const access = new CallAccess({ backend: { get: () => undefined }, audit });
  const claims = { issuer: "prd", subject: "app", project: "p1", role: "read" } as TokenClaims;
  const values = createContextValues()
    .set(tokenKey, { claims } as VerifiedToken)
    .set(correlationKey, "id-7");
  const { typeName, method } = BridgeService;
  const context = { values, service: { typeName }, method: method.getSession } as unknown as HandlerContext;
  const refusalOf = (ask: () => unknown) => {
    try {
      ask();
    } catch (err) {
      return err instanceof DomainError ? [err.kind, err.fields["correlation_id"]] : err;
    }
  };
  expect(refusalOf(() => access.project(context, "p2"))).toEqual(["denied", "id-7"]);
  expect(refusalOf(() => access.attach(context, { project: "p1", id: "s" }, false))).toEqual(["denied", "id-7"]);
  expect(refusalOf(() => access.session(context, "theirs"))).toEqual(["not-found", undefined]);
  expect(lines.map((line) => (JSON.parse(line) as Record<string, unknown>)["correlation_id"])).toEqual(
    Array(3).fill("id-7"),
  );
});
