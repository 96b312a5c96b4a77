import { z } from "zod";
import type { KeyPath } from "./config-document.ts";

export const KEY_SEPARATOR = " ";

/**
 * A block of keys. A key that is not in `shape` is a fault whose message lists the known keys. An empty value and a
 * missing block count as an empty block.
 */
export function block<S extends z.ZodRawShape>(shape: S) {
  const known = Object.keys(shape).join(KEY_SEPARATOR);
  const error = ({ code }: { readonly code?: string }) =>
    code === "unrecognized_keys" ? known : "must be a block of keys";
  return z.preprocess((value) => value ?? {}, z.strictObject(shape, { error }));
}

/**
 * Adds to the schema of a block a check of several `keys` together. The check runs if each of them is valid by itself,
 * even if other keys are not, so that all faults are reported at once. The path of a fault is relative to the block.
 *
 *     together(block({ least: wholeNumber(1, 9), most: wholeNumber(1, 9) }), ["least", "most"], (values, wrong) => {
 *       if (values.least > values.most) wrong(["least"], "exceeds most");
 *     });
 */
export function together<T extends z.ZodType<object>, K extends keyof z.output<T>>(
  schema: T,
  keys: readonly K[],
  check: (values: Pick<z.output<T>, K>, wrong: (path: KeyPath, reason: string) => void) => void,
): T {
  const areRight = ({ issues }: z.core.ParsePayload) =>
    !issues.some(({ path }) => keys.some((key) => key === path?.[0]));
  return schema.superRefine(
    (values, context) =>
      check(values, (path, message) => context.addIssue({ code: "custom", path: [...path], message })),
    { when: areRight },
  );
}
