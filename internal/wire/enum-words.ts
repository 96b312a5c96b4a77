import { DomainError } from "../base/errors.ts";

/** The values of an enum other than 0, which means "not specified". */
type Said<E> = Exclude<E[keyof E], 0>;

/** Maps the values of an enum in messages to words, and words to values. */
export interface EnumWords<W extends string, N extends number> {
  /** The value of each word. */
  readonly values: Readonly<Record<W, N>>;
  /** The word of a value; undefined for 0 and for a value that only a newer program knows. */
  word(value: number): W | undefined;
  /**
   * Like `word`, for a value in a request: returns `otherwise` for 0. @throws DomainError `invalid`, naming the field,
   * for a value that only a newer program knows
   */
  asked(field: string, value: number, otherwise: W): W;
}

/**
 * The words `W` for the values of an enum, from one table that is read both ways. It compiles only if each word has a
 * value, and each value except 0 has a word.
 */
export function enumWords<W extends string>() {
  return <E extends Readonly<Record<string, number>>, const T extends Readonly<Record<W, Said<E>>>>(
    _enum: E,
    values: T & ([Said<E>] extends [T[W]] ? unknown : { readonly "a value has no word": Exclude<Said<E>, T[W]> }),
  ): EnumWords<W, Said<E>> => {
    const words = new Map<number, W>(Object.entries<number>(values).map(([word, value]) => [value, word as W]));
    return {
      values,
      word: (value) => words.get(value),
      asked(field, value, otherwise) {
        const word = value === 0 ? otherwise : words.get(value);
        if (word === undefined) throw new DomainError("invalid", `${field} has no value ${value}`);
        return word;
      },
    };
  };
}
