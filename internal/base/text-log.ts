import { oneLine } from "./sanitise.ts";

/** The part of a stream's interface through which log lines are written. */
interface Lines {
  write(line: string): void;
}

const LEVELS: Readonly<Record<number, string>> = { 20: "DEBUG", 30: "INFO", 40: "WARN", 50: "ERROR", 60: "FATAL" };
/** Fields that are at the beginning of a line, or of no use to a person. */
const HEAD = new Set(["level", "time", "timestamp", "name", "component", "msg"]);

/**
 * Turns the JSON lines of a logger into lines for people: `2026-01-02T03:04:05.678Z INFO serving
 * listen=127.0.0.1:9445`.
 */
export function textLines(destination: Lines): Lines {
  return { write: (line) => destination.write(`${textOf(line)}\n`) };
}

function textOf(line: string): string {
  try {
    const record = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const fields = Object.entries(record).flatMap(([key, value]) => (HEAD.has(key) ? [] : [`${key}=${shown(value)}`]));
    const { time, timestamp = time, level, msg } = record;
    const word = LEVELS[Number(level)] ?? String(level).toUpperCase();
    return oneLine([timestamp, word, msg, ...fields].join(" ")).trimEnd();
  } catch {
    return oneLine(line).trimEnd();
  }
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return typeof value === "string" && /[\s"=]/.test(text) ? JSON.stringify(text) : text;
}
