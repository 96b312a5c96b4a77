import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type DescField, type DescMessage, type DescMethod, ScalarType } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { DomainError, type ErrorKind } from "../../internal/base/errors.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { connectErrorOf } from "../../internal/rpc/common/errors.ts";

/** Text that a terminal must not get: title, clipboard, styling, C1 controls, bidirectional overrides, forged lines. */
const HOSTILE =
  "evil\x1b]0;owned\x07\x1b]52;c;eA==\x1b\\\x1b[2J\x1b[1;31m\x9b2J\x9d0;t\x9c\x07\b\x7f\u202eabc\u2066\r\nFORGED line";

export interface HostileOptions {
  /** Harmless values for fields of responses, by name. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Every call but Status fails with this error, whose message and details are hostile too. */
  readonly fails?: ErrorKind;
}

/** A sidecar that has hostile text in every string of every response. */
export async function startHostileServer(options: HostileOptions = {}) {
  const answer = (method: DescMethod) => hostile(method.output, options.fields ?? {}, 0);
  const unary = (method: DescMethod) => {
    if (options.fails !== undefined && method.name !== "Status") {
      const fields = { hint: HOSTILE, dialog_id: HOSTILE, retry_after_ms: HOSTILE };
      throw connectErrorOf(new DomainError(options.fails, HOSTILE, { fields }));
    }
    return answer(method);
  };
  async function* stream(method: DescMethod, _: unknown, { signal }: HandlerContext) {
    if (options.fails !== undefined) unary(method);
    yield hostile(method.output, { kind: 1, ...options.fields }, 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (!signal.aborted) yield hostile(method.output, { kind: 4, ...options.fields }, 0);
  }
  const methods = SidecarService.methods.map((method) => [
    method.localName,
    method.methodKind === "unary"
      ? () => unary(method)
      : (req: unknown, ctx: HandlerContext) => stream(method, req, ctx),
  ]);
  const server = createServer(
    connectNodeAdapter({ routes: (router) => void router.service(SidecarService, Object.fromEntries(methods)) }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function hostile(desc: DescMessage, fields: Readonly<Record<string, unknown>>, depth: number) {
  const message = create(desc);
  const fill = reflect(desc, message);
  for (const field of desc.fields) {
    const value = field.localName in fields ? fields[field.localName] : hostileValue(field, fields, depth);
    if (value === undefined) continue;
    if (field.fieldKind === "list") fill.get(field).add(value as never);
    else if (field.fieldKind === "map") fill.get(field).set(HOSTILE, value as never);
    else fill.set(field, value as never);
  }
  return message;
}

function hostileValue(field: DescField, fields: Readonly<Record<string, unknown>>, depth: number): unknown {
  const { message, scalar } = field;
  if (message) return depth > 4 ? undefined : reflect(message, hostile(message, fields, depth + 1));
  if (field.enum) return 1;
  switch (scalar) {
    case ScalarType.STRING:
      return HOSTILE;
    case ScalarType.BYTES:
      return new TextEncoder().encode(HOSTILE);
    case ScalarType.BOOL:
      return true;
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return 1n;
    default:
      return 1;
  }
}
