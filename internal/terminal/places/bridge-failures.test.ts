import { expect, it } from "vitest";
import { DomainError } from "../../base/errors.ts";
import { explainFailure } from "./bridge-failures.ts";

const call = { server: "127.0.0.1:9445", project: "shop" };

it("explains how to wait for a starting session, but not if the control plane is away", () => {
  const starting = new DomainError("unavailable", "session is starting", { fields: { session: "starting" } });
  expect(explainFailure(starting, call)).toMatchObject({ fields: { hint: expect.stringContaining("gt wait") } });
  const away = new DomainError("unavailable", "connection refused");
  expect(explainFailure(away, call)).toBe(away);
});

it("names the control plane that cannot be reached", () => {
  const away = new DomainError("unavailable", "cannot be reached: connect ECONNREFUSED 127.0.0.1:9445");
  expect(explainFailure(away, call)).toMatchObject({
    message: "127.0.0.1:9445 cannot be reached: connect ECONNREFUSED 127.0.0.1:9445",
    fields: { hint: expect.stringMatching(/kubectl port-forward, which ends with its pod\? --server/) },
  });
  const remote = explainFailure(away, { ...call, server: "bridge.example.com:9445" });
  expect(remote).toMatchObject({ fields: { hint: expect.not.stringContaining("port-forward") } });
});

it("explains how to act for a project that the token's issuer may act for", () => {
  const denied = new DomainError("denied", "the token's issuer may not act for this project", {
    fields: { token: "project" },
  });
  expect(explainFailure(denied, call)).toMatchObject({ fields: { hint: expect.stringContaining("--project") } });
});

it("names the control plane that does not answer, and keeps other deadlines unchanged", () => {
  const silent = new DomainError("deadline", "the operation timed out");
  expect(explainFailure(silent, call)).toMatchObject({
    message: "127.0.0.1:9445 does not answer in time",
    fields: { hint: expect.stringContaining("port-forward") },
  });
  const late = new DomainError("deadline", "the sidecar does not answer within 3 s");
  expect(explainFailure(late, call)).toBe(late);
});

it("does not blame a certificate for a connection that ends before TLS, such as a port-forward without a target", () => {
  const cause = Object.assign(
    new Error("Client network socket disconnected before secure TLS connection was established"),
    { code: "ECONNRESET" },
  );
  const cut = new DomainError("unavailable", "cannot be reached", { cause });
  const told = explainFailure(cut, call);
  expect(told).toMatchObject({ message: "127.0.0.1:9445 closed the connection before TLS began" });
});

it("lists the providers of a control plane if the requested one is unknown", () => {
  const unknown = new DomainError("invalid", 'no provider "bogus" is configured here', {
    fields: { known: "claude, demo" },
  });
  expect(explainFailure(unknown, call)).toMatchObject({ fields: { hint: "the providers there are claude, demo" } });
});

it("explains how to act for another project: with --project, which does not change a token in GT_TOKEN", () => {
  const denied = new DomainError("denied", "the token is for another project");
  expect(explainFailure(denied, call)).toMatchObject({
    fields: { hint: "the token is for shop; --project requests a token for another project" },
  });
  expect(explainFailure(denied, { ...call, isGivenToken: true })).toMatchObject({
    fields: { hint: expect.stringContaining("the token is for shop; GT_TOKEN is used as it is") },
  });
});
