import { DomainError } from "../../base/errors.ts";
import { type ExactJson, isList, isObject, type JsonObject, member, readJson } from "../acp/json-text.ts";

/** A file that comes with a prompt. */
interface Attachment {
  readonly filename: string;
  /** Padded base64. */
  readonly content: string;
}

/** A prompt, or the answer to an agent's question. */
interface Envelope {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const MAX_FILENAME = 255;
const IMAGES: ReadonlyMap<string, string> = new Map([
  ["gif", "image/gif"],
  ["jpeg", "image/jpeg"],
  ["jpg", "image/jpeg"],
  ["png", "image/png"],
  ["webp", "image/webp"],
]);

/**
 * Reads a text, or `{"prompt", "attachments": [{"filename", "content"}]}`. Other members are ignored.
 * @throws DomainError `invalid`
 */
export function readEnvelope(data: Uint8Array): Envelope {
  const text = textOf(data);
  if (text === undefined) throw invalid("the prompt is not UTF-8");
  if (!/^[ \t\r\n]*\{/.test(text)) return envelopeOf(text, undefined);
  const value = readJson(text);
  if (!isObject(value)) throw invalid("the prompt begins with { but is not a JSON object");
  return envelopeOf(member(value, "prompt"), member(value, "attachments") ?? undefined);
}

/** The payload of the work for a prompt. The work continues the lane's conversation. */
export function workOf({ text, attachments }: Envelope): JsonObject {
  if (attachments.length === 0) return { task: text, continue: true };
  return { prompt: [{ type: "text", text }, ...attachments.map(blockOf)], continue: true };
}

function envelopeOf(prompt: ExactJson | undefined, attachments: ExactJson | undefined): Envelope {
  if (typeof prompt !== "string" || prompt === "") throw invalid("the prompt has no text");
  if (attachments !== undefined && !isList(attachments)) throw invalid("attachments is not a list");
  return { text: prompt, attachments: (attachments ?? []).map(attachmentOf) };
}

function attachmentOf(value: ExactJson): Attachment {
  const [filename, content] = isObject(value) ? [member(value, "filename"), member(value, "content")] : [];
  const isNamed = typeof filename === "string" && filename !== "" && filename.length <= MAX_FILENAME;
  if (!isNamed) throw invalid(`an attachment needs a filename of up to ${MAX_FILENAME} characters`);
  if (typeof content !== "string" || !BASE64.test(content)) {
    throw invalid("the content of an attachment must be padded base64");
  }
  return { filename, content };
}

/** The content block of an attachment: an image, or a resource with text or bytes. */
function blockOf({ filename, content }: Attachment): ExactJson {
  const image = IMAGES.get(filename.split(".").at(-1)?.toLowerCase() ?? "");
  if (image !== undefined) return { type: "image", mimeType: image, data: content };
  const uri = `attachment:///${encodeURIComponent(filename)}`;
  const text = textOf(Buffer.from(content, "base64"));
  const isText = text !== undefined && !text.includes("\0");
  const held = isText ? { mimeType: "text/plain", text } : { mimeType: "application/octet-stream", blob: content };
  return { type: "resource", resource: { uri, ...held } };
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(data: Uint8Array): string | undefined {
  try {
    return decoder.decode(data);
  } catch {
    return undefined;
  }
}

function invalid(message: string): DomainError {
  return new DomainError("invalid", message);
}
