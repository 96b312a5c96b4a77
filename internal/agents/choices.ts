import type { DialogChoice } from "./profile.ts";

export interface ChoiceList {
  /** The choices are beside each other in one row. */
  readonly beside?: true;
  readonly choices: readonly DialogChoice[];
  /** First and last row of the list, both inclusive. */
  readonly top: number;
  readonly bottom: number;
}

/**
 * The reading of the place where a program draws its choices. `unclear`: a list that cannot be read with certainty, and
 * the reason.
 */
export type ChoiceReading =
  | ({ readonly type: "list" } & ChoiceList)
  | { readonly type: "unclear"; readonly why: string; readonly top: number; readonly bottom: number };

/**
 * The place and style in which a program draws a numbered list. Text that a dialog quotes is elsewhere, or is indented.
 */
export interface NumberedPlace {
  /** A row, without what the program draws beside the list. */
  readonly text: (row: number) => string;
  /**
   * Column of the numbers' first digit; the continuation of an item in the next row is indented by at least three more.
   */
  readonly column: number;
  /** Whether an item's row may begin with this, the text before its number. */
  readonly leads: (before: string) => boolean;
  readonly isSelected: (row: number) => boolean;
  /** A row between two items that belongs to the list. */
  readonly isDivider?: (row: number) => boolean;
  /** A row that is one of the items, and the rows that may belong to the list, both inclusive. */
  readonly anchor: number;
  readonly from: number;
  readonly to: number;
}

interface Item {
  readonly row: number;
  readonly number: number;
  readonly label: string;
}

/**
 * Reads the list around an item: numbers that count from 1 without a gap in one column, exactly one of them selected.
 * Undefined if the anchor is not an item.
 */
export function numberedChoices(place: NumberedPlace): ChoiceReading | undefined {
  const anchor = itemAt(place, place.anchor);
  if (anchor === undefined) return undefined;
  const above = itemsAbove(place, anchor);
  const items = above === undefined ? undefined : [...above, anchor, ...itemsBelow(place, anchor)];
  const [top, bottom] = [items?.[0]?.row ?? anchor.row, items?.at(-1)?.row ?? anchor.row];
  const unclear = (why: string): ChoiceReading => ({ type: "unclear", why, top, bottom });
  if (items === undefined) return unclear("its choices are not numbered from 1 without a gap");
  if (items.length < 2) return unclear("it shows only one choice");
  const next = itemAt(place, rowBelow(place, bottom));
  if (next !== undefined) return unclear(`choice ${items.length} is followed by choice ${next.number}`);
  const choices = items.map(({ row, number, label }) => ({
    key: String(number),
    label,
    selected: place.isSelected(row),
  }));
  if (choices.filter((one) => one.selected).length !== 1) return unclear("not exactly one of its choices is selected");
  const beside = items.find(({ label }) => Number(/ {2,}(\d{1,2})[.)] /.exec(label)?.[1]) === items.length + 1);
  if (beside !== undefined) return unclear(`choice ${items.length + 1} is beside choice ${beside.number}`);
  return { type: "list", choices, top, bottom };
}

function itemAt({ text, column, leads }: NumberedPlace, row: number): Item | undefined {
  const line = text(row).slice(0, 1000);
  if (!leads(line.slice(0, column))) return undefined;
  const match = /^(\d{1,2})[.)] +(\S.*)$/.exec(line.slice(column));
  return match === null ? undefined : { row, number: Number(match[1]), label: (match[2] ?? "").trim() };
}

/** True if a row may be between two items: a blank row, the continuation of an item, a divider. */
function isBetween({ text, column, isDivider }: NumberedPlace, row: number): boolean {
  return (
    text(row)
      .slice(0, column + 3)
      .trim() === "" || isDivider?.(row) === true
  );
}

/** Undefined when the numbers do not go down to 1. */
function itemsAbove(place: NumberedPlace, anchor: Item): Item[] | undefined {
  const items: Item[] = [];
  let row = anchor.row - 1;
  for (let number = anchor.number - 1; number >= 1; number -= 1) {
    while (row >= place.from && isBetween(place, row)) row -= 1;
    const item = row < place.from ? undefined : itemAt(place, row);
    if (item?.number !== number) return undefined;
    items.unshift(item);
    row -= 1;
  }
  return anchor.number < 1 ? undefined : items;
}

function itemsBelow(place: NumberedPlace, anchor: Item): Item[] {
  const items: Item[] = [];
  for (let last = anchor; ; ) {
    const item = itemAt(place, rowBelow(place, last.row));
    if (item?.number !== last.number + 1) return items;
    items.push(item);
    last = item;
  }
}

/** The next row below that is not between two items; one row beyond the place when there is none. */
function rowBelow(place: NumberedPlace, from: number): number {
  let row = from + 1;
  while (row <= place.to && isBetween(place, row)) row += 1;
  return row <= place.to ? row : Number.MAX_SAFE_INTEGER;
}
