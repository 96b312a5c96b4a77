import type { FileTool } from "./file-tool.ts";
import type { AgentTurn, HalfAgent } from "./half-agent.ts";

/** The most paths in one input that are read. */
const MAX_PATHS = 8;
/** Once files with this many characters in all have been compared with a question, no further file is read. */
const MAX_COMPARED = 4_000_000;
/** Shorter words are ignored. */
const MIN_WORD = 3;

/**
 * The built-in agent: no model, no account, the same answer to the same question. It reads and quotes each file whose
 * path is in the input; without a path, it quotes the briefing or readable file that has the most words in common with
 * the input.
 */
export const reader: HalfAgent = {
  async answer(turn) {
    const paths = pathsIn(turn.input);
    if (paths.length > 0) return quote(paths, turn.files);
    return nearest(turn) ?? (turn.isBriefing ? "noted" : "no file that I can read has any of these words");
  },
  forget() {}, // it remembers nothing
};

/**
 * The absolute paths in a text, in order, without the punctuation of the sentence around them.
 * @internal
 */
export function pathsIn(text: string): readonly string[] {
  const found = [...text.matchAll(/(?<=^|[\s"'`(<[])\/[^\s"'`<>]*/g)].map(([path]) =>
    path.replace(/[,;:!?)\]]+$/, "").replace(/(?<=[^./])\.$/, ""),
  );
  return [...new Set(found)].slice(0, MAX_PATHS);
}

function quote(paths: readonly string[], files: FileTool): string {
  const quoted = paths.map((path) => {
    const result = files.read(path);
    if (!result.ok) return `cannot read ${path}: ${result.reason}`;
    const text = result.text.replace(/\n$/, "");
    return paths.length === 1 ? text : `${path}:\n${text}`;
  });
  return quoted.join("\n");
}

function nearest({ input, history, files }: AgentTurn): string | undefined {
  const wanted = wordsOf(input);
  const common = (text: string) => [...wordsOf(text)].filter((word) => wanted.has(word)).length;
  let best: { readonly score: number; readonly text: () => string } = { score: 0, text: () => "" };
  for (const { input: text, isBriefing } of history.toReversed()) {
    const score = isBriefing ? common(text) : 0;
    if (score > best.score) best = { score, text: () => text };
  }
  let compared = 0;
  for (const path of files.names()) {
    const text = compared < MAX_COMPARED ? files.readUnrecorded(path) : undefined;
    compared += text?.length ?? 0;
    const score = common(text ?? "");
    if (score > best.score) best = { score, text: () => quote([path], files) };
  }
  return best.score > 0 ? best.text() : undefined;
}

function wordsOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.filter((word) => word.length >= MIN_WORD));
}
