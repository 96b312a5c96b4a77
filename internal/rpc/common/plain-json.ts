import { type DescMessage, type JsonValue, type Message, ScalarType, toJson } from "@bufbuild/protobuf";

/**
 * A message as plain JSON with proto field names. `int64` values are numbers; fields without a value are omitted; with
 * `defaults`, only optional fields are.
 */
export function plainJson(schema: DescMessage, message: Message, { defaults = false } = {}): JsonValue {
  return withNumbers(schema, toJson(schema, message, { useProtoFieldName: true, alwaysEmitImplicit: defaults }));
}

function withNumbers(schema: DescMessage, json: JsonValue): JsonValue {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  if (schema.typeName.startsWith("google.protobuf.")) return json;
  const entries = Object.entries(json).map(([name, value]): [string, JsonValue] => {
    const field = schema.fields.find((one) => one.name === name);
    if (field === undefined) return [name, value];
    if (field.message !== undefined && field.fieldKind !== "map") {
      const { message } = field;
      return [name, Array.isArray(value) ? value.map((one) => withNumbers(message, one)) : withNumbers(message, value)];
    }
    return [name, field.scalar === ScalarType.INT64 && typeof value === "string" ? Number(value) : value];
  });
  return Object.fromEntries(entries);
}
