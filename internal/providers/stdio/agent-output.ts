import { plainText } from "../../base/sanitise.ts";
import { LineReader, type OutputLine } from "../../base/text/line-reader.ts";
import type { AgentEvent } from "../../bridge/provider.ts";

/** A longer protocol line is not a usable message: reading it takes tens of milliseconds. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
/** The limit of a line for people. */
const MAX_TEXT_BYTES = 64 * 1024;

export interface OutputDeps {
  /** False: the line is not of the agent's protocol. */
  readonly onLine: (line: string) => boolean;
  readonly emit: (event: AgentEvent) => void;
  readonly raw: boolean;
}

/** Splits an agent's output into lines, gives the whole ones to its protocol, and passes on or reports the rest. */
export class AgentOutput {
  readonly #deps: OutputDeps;
  readonly #lines = new LineReader(MAX_LINE_BYTES);
  readonly #errorLines = new LineReader(MAX_TEXT_BYTES);
  #unreadable = 0;
  #lastError = "";

  constructor(deps: OutputDeps) {
    this.#deps = deps;
  }

  /** The last line on stderr as plain text, which often says why the agent ended; empty before the first. */
  get lastError(): string {
    return this.#lastError;
  }

  stdout(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) this.#onLine(line);
  }

  stderr(chunk: Buffer): void {
    for (const line of this.#errorLines.push(chunk)) this.#onErrorLine(line);
  }

  /**
   * Call it at the end of the output. Reports how many lines of stdout were not of the protocol or not complete; these
   * lines were shown to people.
   */
  end(): void {
    const line = this.#lines.end();
    if (line !== undefined) this.#onLine(line);
    const errorLine = this.#errorLines.end();
    if (errorLine !== undefined) this.#onErrorLine(errorLine);
    if (this.#unreadable === 0) return;
    const text = `● ${this.#unreadable} of its lines could not be parsed\n`;
    this.#deps.emit({ type: "output", stream: "stderr", text });
  }

  #onLine(line: OutputLine): void {
    const isRead = line.lostBytes === 0 && this.#deps.onLine(line.text);
    if (!isRead) this.#unreadable++;
    if (!isRead || this.#deps.raw) this.#text("stdout", line);
  }

  #onErrorLine(line: OutputLine): void {
    const text = this.#text("stderr", line).trim();
    if (text !== "") this.#lastError = text;
  }

  /**
   * Emits a line for people, cut to MAX_TEXT_BYTES unless `raw` is set, and reports the lost bytes. Returns the line.
   */
  #text(stream: "stdout" | "stderr", line: OutputLine): string {
    const text = line.text.length > MAX_TEXT_BYTES && !this.#deps.raw ? line.text.slice(0, MAX_TEXT_BYTES) : line.text;
    const plain = plainText(text);
    this.#deps.emit({ type: "output", stream, text: `${plain}\n` });
    const bytes = line.lostBytes + (text === line.text ? 0 : Buffer.byteLength(line.text) - Buffer.byteLength(text));
    if (bytes > 0) this.#deps.emit({ type: "lost", stream, bytes, reason: "a line of its output is too long" });
    return plain;
  }
}
