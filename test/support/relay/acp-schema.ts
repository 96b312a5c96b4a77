import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";

type Side = "agent" | "client";

interface Definition {
  /** The side that is called. */
  readonly "x-side"?: string;
  readonly "x-method"?: string;
}

interface Frame {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

const FILE = new URL("../../../node_modules/@agentclientprotocol/sdk/schema/v1/schema.json", import.meta.url);
// The validator does not know formats such as uint32.
const withoutFormats = (key: string, value: unknown) => (key === "format" ? undefined : value);
const schema = JSON.parse(readFileSync(fileURLToPath(FILE), "utf8"), withoutFormats) as {
  readonly $defs: Readonly<Record<string, Definition>>;
};
const validator = new AjvJsonSchemaValidator();
const checks = new Map<string, ReturnType<typeof validator.getValidator>>();

/**
 * The parts of a conversation, as recorded by `frame-tap-main.ts`, that violate the published schema of ACP version 1.
 */
export function schemaFaults(lines: readonly string[]): {
  readonly checked: number;
  readonly faults: readonly string[];
} {
  const open = new Map<string, string>();
  const faults: string[] = [];
  let checked = 0;
  for (const line of lines) {
    const from: Side = line.startsWith("agent ") ? "agent" : "client";
    const to: Side = from === "agent" ? "client" : "agent";
    const frame = JSON.parse(line.slice(from.length + 1)) as Frame;
    const { id, method = open.get(`${to} ${id}`) } = frame;
    if (frame.method !== undefined && id !== undefined) open.set(`${from} ${id}`, frame.method);
    if (method === undefined) faults.push(`answers no request: ${line}`);
    if (method === undefined || method.startsWith("_") || "error" in frame) continue; // `_…`: an extension
    const wanted = frame.method === undefined ? "Response" : id === undefined ? "Notification" : "Request";
    checked++;
    const fault = faultOf(frame.method === undefined ? from : to, method, wanted, frame.params ?? frame.result);
    if (fault !== undefined) faults.push(`${fault}: ${line}`);
  }
  return { checked, faults };
}

function faultOf(called: Side, method: string, kind: string, value: unknown): string | undefined {
  const name = Object.entries(schema.$defs).find(
    ([each, { "x-method": of, "x-side": side }]) => of === method && side === called && each.endsWith(kind),
  )?.[0];
  if (name === undefined) return `no ${kind} of ${method}`;
  const check = checks.get(name) ?? validator.getValidator({ $ref: `#/$defs/${name}`, $defs: schema.$defs } as never);
  checks.set(name, check);
  const { valid, errorMessage } = check(value);
  return valid ? undefined : `${name}: ${errorMessage}`;
}
