/** How providers begin the line of a tool's call or of a notice, and of a tool's result; its other lines follow. */
const CALL = "● ";
const RESULT = "  ⎿ ";
const RESULT_GOES_ON = "    ";

/** The model's words in what a session has printed, without the lines about its tools. */
export function wordsOf(printed: string): string {
  let isResult = false;
  const kept = printed.split("\n").filter((line) => {
    isResult = line.startsWith(RESULT) || (isResult && line.startsWith(RESULT_GOES_ON));
    return !isResult && !line.startsWith(CALL);
  });
  return kept.join("\n").trim();
}
