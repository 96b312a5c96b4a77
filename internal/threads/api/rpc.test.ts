import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError, createConnectRouter } from "@connectrpc/connect";
import { createAsyncIterable, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import { errorFromJson } from "@connectrpc/connect/protocol-connect";
import { expect, it } from "vitest";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import { describeErrors } from "../../rpc/server/described-errors.ts";
import { fieldsOfKind } from "../domain/faults.ts";
import type { OperationCalls } from "./calls.ts";
import { threadsRoutes } from "./rpc.ts";

const calls = {} as OperationCalls;

/** Posts JSON to PostMessage of a caller without a token. */
async function errorOf(message: object): Promise<unknown> {
  const router = createConnectRouter();
  threadsRoutes(calls)(router);
  const handler = router.handlers.find(({ method }) => method.name === "PostMessage");
  const answer = await handler?.({
    httpVersion: "1.1",
    url: `http://localhost${handler.requestPath}`,
    method: "POST",
    header: new Headers({ "content-type": "application/json" }),
    body: createAsyncIterable([new TextEncoder().encode(JSON.stringify(message))]),
    signal: new AbortController().signal,
  });
  if (answer === undefined) throw new Error("there is no such method");
  return JSON.parse(await textOf((await describeErrors(answer, fieldsOfKind)).body));
}

async function textOf(body: UniversalServerResponse["body"]): Promise<string> {
  let text = "";
  for await (const chunk of body ?? []) text += new TextDecoder().decode(chunk);
  return text;
}

it.each(["sender", "workspaceId", "bogus"])(
  "refuses JSON with the unknown field %s before the operation",
  async (key) => {
    const known = { threadId: "t-1", text: "hello" };
    const error = await errorOf({ ...known, [key]: "x" });
    expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringContaining(`${key}`) });
    const failure = domainErrorOf(errorFromJson(error as JsonValue, undefined, new ConnectError("no", Code.Unknown)));
    expect(failure).toMatchObject({ kind: "invalid", fields: { code: "VALIDATION_ERROR" } });
    expect(await errorOf(known)).not.toMatchObject({ code: "invalid_argument" });
  },
);
