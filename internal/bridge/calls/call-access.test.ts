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
import type { SessionInfo, SessionKey } from "../session-backend.ts";
import { CallAccess } from "./call-access.ts";

it("tells a refused caller its id in the audit log, and reveals no other project's session", async () => {
  const lines: string[] = [];
  const audit = new AuditLog({ clock: new FakeClock(), write: (line) => lines.push(line) });
  const access = new CallAccess({ backend: { get: () => undefined }, audit });
  const claims = { issuer: "prd", subject: "app", project: "p1", role: "read" } as TokenClaims;
  const values = createContextValues()
    .set(tokenKey, { claims } as VerifiedToken)
    .set(correlationKey, "id-7");
  const { typeName, method } = BridgeService;
  const context = { values, service: { typeName }, method: method.getSession } as unknown as HandlerContext;
  const refusalOf = async (ask: () => unknown) => {
    try {
      await ask();
    } catch (err) {
      return err instanceof DomainError ? [err.kind, err.fields["correlation_id"]] : err;
    }
  };
  expect(await refusalOf(() => access.project(context, "p2"))).toEqual(["denied", "id-7"]);
  expect(await refusalOf(() => access.attach(context, { project: "p1", id: "s" }, false))).toEqual(["denied", "id-7"]);
  expect(await refusalOf(() => access.session(context, "theirs"))).toEqual(["not-found", undefined]);
  expect(lines.map((line) => (JSON.parse(line) as Record<string, unknown>)["correlation_id"])).toEqual(
    Array(3).fill("id-7"),
  );
});

it("asks the backend before it denies an unknown session", async () => {
  const audit = new AuditLog({ clock: new FakeClock(), write: () => {} });
  const known = new Set<string>();
  const get = ({ id }: SessionKey) => (known.has(id) ? ({ id, project: "p1" } as SessionInfo) : undefined);
  const confirmMissing = async ({ id }: SessionKey) => {
    if (id === "away") throw new DomainError("unavailable", "try again");
    if (id === "late") known.add(id);
  };
  const access = new CallAccess({ backend: { get, confirmMissing }, audit });
  const claims = { issuer: "prd", subject: "app", project: "p1", role: "read" } as TokenClaims;
  const values = createContextValues().set(tokenKey, { claims } as VerifiedToken);
  const { typeName, method } = BridgeService;
  const context = { values, service: { typeName }, method: method.getSession } as unknown as HandlerContext;
  expect(await access.session(context, "late")).toEqual({ project: "p1", id: "late" });
  await expect(access.session(context, "away")).rejects.toMatchObject({ kind: "unavailable" });
  await expect(access.session(context, "none")).rejects.toMatchObject({ kind: "not-found" });
});
