import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { parseRoleRule } from "../../auth/roles.ts";
import { SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../gen/gastown/v1/terminal_pb.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { callerKey } from "../../rpc/port/caller.ts";
import { peerKey } from "../../rpc/port/peer.ts";
import { callerRole, roleGate } from "./access.ts";
import { NEEDED_ROLES } from "./server.ts";

const RULES = ["reader=read", "nudger=nudge", "operator=operate"].map((rule) =>
  parseRoleRule(`spiffe://td/client/${rule}`),
);
const SERVICES = [SidecarService, TerminalService, Health];
const METHODS = SERVICES.flatMap((service) => service.methods.map((method) => ({ service, method })));

type Peer = HandlerContext["values"] extends { get(key: typeof peerKey): infer P } ? P : never;

function contextOf(peer: unknown, call = METHODS[0]): HandlerContext {
  const values = createContextValues().set(peerKey, peer as Peer);
  return { ...call, values } as unknown as HandlerContext;
}
const client = (name: string) => ({ type: "certificate", identities: [`spiffe://td/client/${name}`], serial: "1" });

/** The methods that a caller may call. */
function allowed(peer: unknown): readonly string[] {
  return METHODS.filter((call) => {
    try {
      roleGate(RULES, NEEDED_ROLES)(contextOf(peer, call));
      return true;
    } catch (err) {
      expect(err).toMatchObject({ kind: "denied" });
      return false;
    }
  }).map(({ method }) => method.name);
}

const READ = ["Peek", "Status", "WatchOutput", "StreamEvents", "AckEvents", "Attach"];
const NUDGE = ["Nudge", "GetNudge", "CancelNudge", "SendInput"];
const OPERATE = ["SendKeys", "Respond", "StopAgent"];
const FREE = Health.methods.map((method) => method.name);

describe("the methods that a caller may use", () => {
  it.each([
    ["an unknown certificate", client("stranger"), FREE],
    ["a reader", client("reader"), [...READ, ...FREE]],
    ["a nudger", client("nudger"), [...READ, ...NUDGE, ...FREE]],
    ["an operator", client("operator"), [...READ, ...NUDGE, ...OPERATE, ...FREE]],
    ["any caller without TLS", { type: "plaintext" }, [...READ, ...NUDGE, ...OPERATE, ...FREE]],
  ])("%s", (_, peer, methods) => {
    expect([...allowed(peer)].sort()).toEqual([...methods].sort());
  });

  it("are defined for every method of the sidecar", () => {
    const names = [...SidecarService.methods, ...TerminalService.methods].map((method) => method.name);
    expect([...READ, ...NUDGE, ...OPERATE].sort()).toEqual(names.sort());
  });
});

it("an RPC without an assigned role is refused for every caller", () => {
  const unknown = {
    ...contextOf(client("operator")),
    method: { name: "Format", localName: "format" },
  } as HandlerContext;
  expect(() => roleGate(RULES, NEEDED_ROLES)(unknown)).toThrow(expect.objectContaining({ kind: "denied" }));
  const service = { typeName: "gastown.v1.AnotherService" };
  expect(() => roleGate(RULES, NEEDED_ROLES)({ ...unknown, service } as HandlerContext)).toThrow("no role is assigned");
});

it.each<[string, string, string | undefined]>([
  ["operator", "read", "read"],
  ["operator", "operate", "operate"],
  ["nudger", "operate", "nudge"],
  ["operator", "root", undefined],
  ["stranger", "read", undefined],
])("a peer that is an %s and speaks for one with %s has the role %s", (peer, senderRole, role) => {
  const context = contextOf(client(peer));
  context.values.set(callerKey, { identity: "ann via it", share: "ann via it", senderRole });
  expect(callerRole(context, RULES)).toBe(role);
});

it("the highest role of several identities counts", () => {
  const identities = ["spiffe://td/client/reader", "spiffe://td/client/operator"];
  expect(callerRole(contextOf({ type: "certificate", identities, serial: "1" }), RULES)).toBe("operate");
});
