import { threadsError } from "../domain/faults.ts";

/** A field: its JSON Schema, which is published, and the check of its values. */
export interface Field {
  readonly schema: Readonly<Record<string, unknown>>;
  /** @throws DomainError `invalid`, code VALIDATION_ERROR, naming `path` */
  readonly check: (value: unknown, path: string) => void;
}

export type Fields = Readonly<Record<string, Field>>;

interface TextRules {
  readonly min?: number;
  readonly max: number;
  /** In UTF-8. */
  readonly maxBytes?: number;
  readonly pattern?: RegExp;
}

/** A string of valid Unicode without NUL. */
export function stringField({ min = 0, max, maxBytes, pattern }: TextRules, description?: string): Field {
  return {
    schema: {
      type: "string",
      // A pattern also limits the length. Omitting the other limits keeps the list of tools short, which every agent
      // reads.
      ...(pattern === undefined ? { ...(min > 0 && { minLength: min }), maxLength: max } : { pattern: pattern.source }),
      ...(description !== undefined && { description }),
    },
    check: (value, path) => {
      if (typeof value !== "string") throw invalid(`${path} is not a text`);
      checkCharacters(value, path);
      if ([...value].length < min) throw invalid(`${path} is shorter than ${min} characters`);
      if (value.length > max && [...value].length > max) throw invalid(`${path} is longer than ${max} characters`);
      if (maxBytes !== undefined && Buffer.byteLength(value) > maxBytes) {
        throw invalid(`${path} is larger than ${maxBytes} bytes`);
      }
      if (pattern !== undefined && !pattern.test(value)) throw invalid(`${path} is not of the form ${pattern.source}`);
    },
  };
}

export function enumField(values: readonly string[]): Field {
  return {
    schema: { type: "string", enum: values },
    check: (value, path) => {
      if (!values.includes(value as string)) throw invalid(`${path} is not one of ${values.join(", ")}`);
    },
  };
}

export function integerField(minimum: number, maximum: number, description?: string): Field {
  return {
    schema: { type: "integer", minimum, maximum, ...(description !== undefined && { description }) },
    check: (value, path) => {
      if (typeof value !== "number" || !Number.isSafeInteger(value)) throw invalid(`${path} is not a whole number`);
      if (value < minimum || value > maximum) throw invalid(`${path} is not between ${minimum} and ${maximum}`);
    },
  };
}

export const booleanField: Field = {
  schema: { type: "boolean" },
  check: (value, path) => {
    if (typeof value !== "boolean") throw invalid(`${path} is neither true nor false`);
  },
};

export function arrayField(item: Field, max: number): Field {
  return {
    schema: { type: "array", items: item.schema, maxItems: max },
    check: (value, path) => {
      if (!Array.isArray(value)) throw invalid(`${path} is not a list`);
      if (value.length > max) throw invalid(`${path} has more than ${max} entries`);
      for (const [index, one] of value.entries()) item.check(one, `${path}[${index}]`);
    },
  };
}

export function objectField(fields: Fields, required: readonly string[]): Field {
  return {
    schema: objectSchema(fields, required),
    check: (value, path) => checkFields(requireObject(value, path), fields, required, path),
  };
}

/** An object of any shape, bounded in bytes and depth. */
export function anyObjectField(maxBytes: number, maxDepth: number): Field {
  return {
    schema: { type: "object" },
    check: (value, path) => {
      checkTree(requireObject(value, path), path, maxDepth);
      if (Buffer.byteLength(JSON.stringify(value)) > maxBytes)
        throw invalid(`${path} is larger than ${maxBytes} bytes`);
    },
  };
}

export function objectSchema(fields: Fields, required: readonly string[]) {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));
  return { type: "object", properties, ...(required.length > 0 && { required }), additionalProperties: false } as const;
}

/** Checks the fields of an object. @throws DomainError `invalid` for a field that is missing, unknown or not valid */
export function checkFields(
  value: Readonly<Record<string, unknown>>,
  fields: Fields,
  required: readonly string[],
  path: string,
): void {
  for (const name of required) if (value[name] === undefined) throw invalid(`${nameAt(path, name)} is missing`);
  for (const [name, one] of Object.entries(value)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) {
      throw threadsError("VALIDATION_ERROR", `${nameAt(path, name.slice(0, 100))} is not known`, {
        hint: `the fields are ${Object.keys(fields).join(", ") || "none"}`,
      });
    }
    field.check(one, nameAt(path, name));
  }
}

export function requireObject(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw invalid(`${path === "" ? "the arguments are" : `${path} is`} not an object`);
}

function checkTree(value: unknown, path: string, depth: number): void {
  if (typeof value === "string") checkCharacters(value, path);
  if (typeof value === "number" && !Number.isFinite(value)) throw invalid(`${path} is not a number`);
  if (typeof value !== "object" || value === null) return;
  if (depth < 1) throw invalid(`${path} is nested too deeply`);
  for (const [name, one] of Object.entries(value)) {
    checkCharacters(name, path);
    if (name === "__proto__") throw invalid(`${path} has the name __proto__`);
    checkTree(one, `${path}.${name.slice(0, 40)}`, depth - 1);
  }
}

function checkCharacters(value: string, path: string): void {
  if (value.includes("\0")) throw invalid(`${path} has a NUL character`);
  if (!value.isWellFormed()) throw invalid(`${path} has half of a character (a lone surrogate)`);
}

function nameAt(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function invalid(message: string) {
  return threadsError("VALIDATION_ERROR", message);
}
