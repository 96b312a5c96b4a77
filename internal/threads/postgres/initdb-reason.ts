/** How PostgreSQL and initdb mark the reason of a failure. */
const MARKED = /(?:\b(?:FATAL|PANIC):\s+|^initdb: error: )(.+)$/;

/** Why initdb failed, from its output. Its last line tells that it removes the folder, so a marked line comes first. */
export function initdbReason(output: string): string {
  const lines = output.trim().split("\n");
  const marked = lines.map((line) => MARKED.exec(line)?.[1]).filter((reason) => reason !== undefined);
  return marked.at(-1) ?? lines.at(-1) ?? "";
}
