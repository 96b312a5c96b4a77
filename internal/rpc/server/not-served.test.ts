import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { refuseUnknownMethod } from "./not-served.ts";

const SERVICES = new Set(["a.Here"]);

function refusalOf(path: string): { readonly status: number; readonly body: unknown } {
  let body = "";
  const res = {
    statusCode: 0,
    setHeader: () => {},
    end: (bytes: Uint8Array) => {
      body = new TextDecoder().decode(bytes);
    },
  };
  const req = { method: "POST", headers: { "content-type": "application/json" } };
  expect(refuseUnknownMethod(path, SERVICES, req, res as unknown as ServerResponse)).toBe(true);
  return { status: res.statusCode, body: JSON.parse(body) };
}

it("names the service that this server lacks, and only the method where it has the service", () => {
  const metadata = { service: "a.Elsewhere" };
  expect(refusalOf("/a.Elsewhere/Do")).toMatchObject({
    status: 404,
    body: {
      code: "unimplemented",
      message: "this server has no service a.Elsewhere",
      details: [{ debug: { metadata } }],
    },
  });
  const known = refusalOf("/a.Here/Do");
  expect(known.body).toMatchObject({ code: "unimplemented", message: "this server has no method a.Here/Do" });
  expect(JSON.stringify(known.body)).not.toContain("metadata");
});
