import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { DomainError } from "../../base/errors.ts";
import { ANNOTATIONS } from "../pods/names.ts";
import { observePod } from "../pods/observed-pod.ts";
import type { SessionRecord } from "../pods/session-record.ts";
import type { NamespaceBinding } from "../pods/settings.ts";
import { RotationReports } from "./rotation-reports.ts";
import type { SecretFacts } from "./session-secrets.ts";

const never = new AbortController().signal;
const STATE = { type: "reissuing", current: "1b", previous: "0a", since: 0 } as const;
const PHASE = { state: STATE, signerName: "CN=new" };

interface Case {
  readonly running?: boolean;
  readonly phase?: string;
  readonly certified?: boolean;
  readonly plain?: boolean;
  readonly secret?: Partial<SecretFacts>;
  /** The sidecar's answer; undefined: none. */
  readonly fault?: Error;
  readonly answer?: { readonly tlsSerial: string; readonly caSha256: readonly string[] };
}

describe("the reports of sidecars during the replacement of the CA", () => {
  const asked: string[] = [];
  /** Sessions whose pods have gone. */
  const gone = new Set<string>();

  function reportsOf(cases: Readonly<Record<string, Case>>): RotationReports {
    asked.length = 0;
    gone.clear();
    const records = Object.entries(cases).map(([id, one]): SessionRecord => {
      const state = one.running === false ? { waiting: {} } : { running: {} };
      const annotations = one.certified === false ? {} : { [ANNOTATIONS.certSerial]: "A1" };
      const status = { phase: one.phase ?? "Running", containerStatuses: [{ name: "agent", state }] };
      const pod = observePod({ metadata: { name: id, namespace: "agents", uid: id, annotations }, status });
      const credentials = one.plain ? "plaintext" : "secret";
      const binding: NamespaceBinding = { name: "agents", project: "shop", templates: new Map(), credentials };
      return { key: { project: "shop", id }, pod, binding, isOwn: true };
    });
    const present = () => records.filter(({ key }) => !gone.has(key.id));
    const of = ({ key }: SessionRecord) => {
      const { secret } = cases[key.id] ?? {};
      return secret && { serial: "A1", issuer: "CN=new", notAfter: 0, caSha256: ["1b", "0a"], ...secret };
    };
    const link = ({ key }: SessionRecord) => {
      const unary = async () => {
        asked.push(key.id);
        const { answer, fault } = cases[key.id] ?? {};
        if (fault !== undefined) throw fault;
        if (answer === undefined) throw new DomainError("unavailable", "no answer");
        return answer;
      };
      return { unary } as never;
    };
    return new RotationReports({
      clock: new FakeClock(),
      pods: { all: () => present().values() as never, get: ({ id }) => present().find(({ key }) => key.id === id) },
      secrets: { of },
      pool: { link },
    });
  }

  it.for([
    ["serves with the new certificate", { secret: {}, answer: { tlsSerial: "A1", caSha256: ["1b", "0a"] } }, "1b"],
    [
      "serves with the previous certificate",
      { secret: {}, answer: { tlsSerial: "A0", caSha256: ["1b", "0a"] } },
      undefined,
    ],
    [
      "has a Secret of the old CA",
      { secret: { issuer: "CN=old" }, answer: { tlsSerial: "A1", caSha256: [] } },
      undefined,
    ],
    ["does not answer", { secret: {} }, undefined],
    ["lost its Secret", { answer: { tlsSerial: "A1", caSha256: [] } }, undefined],
    ["has not started, and will start with its Secret", { running: false, secret: {} }, "1b"],
  ] as const)("include one that %s", async ([, one, issuer]) => {
    const all = await reportsOf({ one }).collect(PHASE, { afresh: false }, never);
    expect(all.map((report) => [report.session, report.issuer])).toEqual([["shop/one", issuer]]);
  });

  it("count a sidecar that fails by a fault of its own as not answered, and do not delay the others", async () => {
    const [failing, quick] = [
      { secret: {}, fault: new ConnectError("broken", Code.Internal) },
      {
        secret: {},
        answer: { tlsSerial: "A1", caSha256: [] },
      },
    ];
    const all = await reportsOf({ failing, quick }).collect(PHASE, { afresh: false }, never);
    expect(all.map((report) => [report.session, report.issuer])).toEqual([
      ["shop/quick", "1b"],
      ["shop/failing", undefined],
    ]);
  });

  it("leave out a pod that has gone while others were asked", async () => {
    const answer = { tlsSerial: "A1", caSha256: [] };
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`s${i}`, { secret: {}, answer }]));
    const reports = reportsOf(many);
    const collecting = reports.collect(PHASE, { afresh: false }, never);
    gone.add("s0");
    const all = await collecting;
    expect(asked).not.toContain("s0");
    expect(all).toHaveLength(39);
  });

  it("leave out pods that ended, that serve plaintext, or that never had a certificate", async () => {
    const reports = reportsOf({
      over: { phase: "Succeeded", secret: {} },
      plain: { plain: true },
      theirs: { certified: false },
    });
    expect(await reports.collect(PHASE, { afresh: false }, never)).toEqual([]);
  });

  it("are remembered for sidecars that have followed, until the step is about to be taken", async () => {
    const reports = reportsOf({
      quick: { secret: {}, answer: { tlsSerial: "A1", caSha256: [] } },
      slow: { secret: {} },
    });
    await reports.collect(PHASE, { afresh: false }, never);
    await reports.collect(PHASE, { afresh: false }, never);
    expect(asked.sort()).toEqual(["quick", "slow", "slow"]);
    await reports.collect(PHASE, { afresh: true }, never);
    expect(asked.filter((id) => id === "quick")).toHaveLength(2);
  });
});
