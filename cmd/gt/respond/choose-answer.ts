import { DomainError } from "../../../internal/base/errors.ts";
import type { Dialog } from "../../../internal/session/types.ts";

/**
 * The key of the choice that a person meant, given its key, its label, or an unambiguous prefix of its label.
 * @throws DomainError `invalid`
 */
export function chosenKey({ choices }: Dialog, said: string): string {
  const wanted = fold(said);
  const byKey = choices.filter((one) => one.key === said.trim());
  const whole = choices.filter((one) => fold(one.label) === wanted);
  const begun = wanted === "" ? [] : choices.filter((one) => fold(one.label).startsWith(wanted));
  for (const found of [byKey, whole, begun]) {
    const [first, second] = found;
    if (first === undefined) continue;
    if (second === undefined) return first.key;
    const both = found.map((one) => `${one.key} (${one.label})`).join(", ");
    throw new DomainError("invalid", `${JSON.stringify(said)} may be ${both}`, {
      fields: { hint: "give the key, or more of the label" },
    });
  }
  const known = choices.map((one) => `${one.key} (${one.label})`).join(", ");
  throw new DomainError("invalid", `no choice ${JSON.stringify(said)} in this dialog`, {
    fields: { hint: known === "" ? "it shows no choices: answer it in the agent's terminal" : `there are ${known}` },
  });
}

function fold(label: string): string {
  return label.normalize("NFC").toLowerCase().replaceAll(/\s+/g, " ").trim();
}
