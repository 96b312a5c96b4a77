const WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"];
const MOST_WORDS = 40;

/** A line that contains its number, of 20 to 250 columns. */
export function lineAt(number: number): string {
  const mixed = Math.imul(number + 1, 0x9e3779b1) >>> 0;
  const count = mixed % 5 === 0 ? (mixed >>> 8) % MOST_WORDS : (mixed >>> 8) % 5;
  const words = Array.from({ length: count }, (_, i) => WORDS[(mixed >>> (i % 24)) % WORDS.length]);
  return [`<${String(number).padStart(8, "0")}`, ...words, `${number}>`].join(" ");
}
