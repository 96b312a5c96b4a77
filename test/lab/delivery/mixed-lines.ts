/** First and last code point of letters, marks and digits of a script. */
const RANGES: readonly (readonly [number, number])[] = [
  [0x61, 0x7a],
  [0xe0, 0x17f],
  [0x3b1, 0x3c9],
  [0x430, 0x44f],
  [0x561, 0x586],
  [0x5d0, 0x5ea],
  [0x621, 0x64a],
  [0x660, 0x669],
  [0x712, 0x72f],
  [0x780, 0x7a5],
  [0x904, 0x94d],
  [0x966, 0x96f],
  [0x985, 0x9cd],
  [0xa05, 0xa4d],
  [0xa85, 0xacd],
  [0xb05, 0xb4d],
  [0xb85, 0xbcd],
  [0xc05, 0xc4d],
  [0xc85, 0xccd],
  [0xd05, 0xd4d],
  [0xd85, 0xddf],
  [0xe01, 0xe3a],
  [0xe81, 0xebd],
  [0xf40, 0xfbc],
  [0x1000, 0x103e],
  [0x10d0, 0x10f0],
  [0x1100, 0x11c2],
  [0x1200, 0x1248],
  [0x13a0, 0x13f4],
  [0x1401, 0x1676],
  [0x1700, 0x1711],
  [0x1780, 0x17d2],
  [0x1820, 0x1842],
  [0x1b05, 0x1b4b],
  [0x3041, 0x3096],
  [0x30a1, 0x30fa],
  [0x4e00, 0x9fa5],
  [0xa500, 0xa60c],
  [0xa984, 0xa9c0],
  [0xaa00, 0xaa36],
  [0xac00, 0xd7a3],
  [0xff21, 0xff5a],
  [0xff66, 0xff9d],
  [0x10330, 0x1034a],
  [0x12000, 0x12399],
  [0x13000, 0x1342e],
  [0x1d400, 0x1d7ff],
  [0x1e900, 0x1e943],
  [0x20000, 0x2a6d6],
];

/** Words that have caused failures, or whose width programs disagree about. */
const WORDS =
  "மனார் नमस्ते क्षत्रिय বাংলা ภาษาไทย မြန်မာ ខ្មែរ සිංහල മലയാളം తెలుగు ಕನ್ನಡ 한국어 日本語 العَرَبِيَّة שָׁלוֹם e\u0301a\u0308 Tiếng 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪🇫🇷 1️⃣ ❤️ ☺ ⚠️ ✈️ ㍿ ﷺ ｶﾞｷﾞ 𝐙𝐍𝐚𝐅 쳱퓠귗 … “q” ½ № ẞ Ǆ क्‍ष می‌خواهم ŀ ᄒ ᅡ 가 각".split(
    " ",
  );
const WORD_SHARE = 0.25;

/** A line of three to seven words in as many scripts. */
export function mixedLine(random: () => number): string {
  return Array.from({ length: 3 + pick(random, 5) }, () => word(random)).join(" ");
}

function word(random: () => number): string {
  if (random() < WORD_SHARE) return WORDS[pick(random, WORDS.length)] ?? "";
  const [first, last] = RANGES[pick(random, RANGES.length)] ?? [0x61, 0x7a];
  let text = "";
  for (let left = 2 + pick(random, 7); left > 0; left--) {
    const character = String.fromCodePoint(first + pick(random, last - first + 1));
    // A combining mark needs a letter before it.
    if (/[\p{L}\p{N}]/u.test(character) || (text !== "" && /\p{M}/u.test(character))) text += character;
  }
  return text === "" ? "a" : text;
}

function pick(random: () => number, count: number): number {
  return Math.floor(random() * count);
}
