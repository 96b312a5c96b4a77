import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

/** Values with which requests pass their first check; by the field's name. */
const VALUES: Readonly<Record<string, unknown>> = {
  session: "claude",
  dialogId: "0af3",
  choice: "1",
  timeoutMs: 75_000n,
  ttlMs: 1000n,
  cols: 80,
  rows: 24,
};

/** A message of that type with every field set; in a oneof, the first field. */
export function sampleMessage(schema: DescMessage): Message {
  const message = reflect(schema, create(schema));
  for (const member of schema.members) {
    const field = member.kind === "oneof" ? member.fields[0] : member;
    if (field !== undefined) setSample(message, field);
  }
  return message.message;
}

function setSample(message: ReflectMessage, field: DescField): void {
  switch (field.fieldKind) {
    case "message":
      message.set(field, reflect(field.message, sampleMessage(field.message)));
      return;
    case "list":
      if (field.listKind === "scalar") message.get(field).add(sampleOf(field));
      return;
    case "map":
      return;
    default:
      message.set(field, sampleOf(field));
  }
}

function sampleOf(field: DescField): unknown {
  const named = VALUES[field.localName];
  if (named !== undefined) return named;
  if (field.enum !== undefined) return field.enum.values.at(-1)?.number;
  switch (field.scalar) {
    case ScalarType.STRING:
      return "r-1";
    case ScalarType.BOOL:
      return true;
    case ScalarType.BYTES:
      return Buffer.from("r-1");
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
      return 7n;
    default:
      return 7;
  }
}
