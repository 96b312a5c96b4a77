import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { DomainError } from "../../../internal/base/errors.ts";
import { fileError } from "../files/file-errors.ts";
import type { CaContext } from "./context.ts";
import { readHidden } from "./prompt.ts";

const MAX_BYTES = 4096;

/** Where the passphrase of a CA's key comes from. Never the command line, which every user of the machine can read. */
export type PassphraseSource =
  | { readonly type: "file"; readonly path: string }
  | { readonly type: "fd"; readonly fd: number }
  | { readonly type: "environment"; readonly text: string }
  | { readonly type: "prompt" };

/**
 * The passphrase for a CA's key: the first line of a file or descriptor, the environment's, or what a person types.
 * @param twice true for a new passphrase, which a person must type twice
 * @throws DomainError `unauthenticated` when there is none
 */
export async function readPassphrase(
  context: CaContext,
  source: PassphraseSource,
  { name, twice }: { readonly name: string; readonly twice: boolean },
): Promise<string> {
  switch (source.type) {
    case "environment":
      return source.text;
    case "file":
      return firstLine(readFrom(source.path), source.path);
    case "fd":
      return firstLine(readDescriptor(source.fd, `descriptor ${source.fd}`), `descriptor ${source.fd}`);
    case "prompt":
      return await askFor(context, name, twice);
  }
}

async function askFor(context: CaContext, name: string, twice: boolean): Promise<string> {
  if (!context.stdin.isTTY) {
    throw new DomainError("unauthenticated", `no passphrase for ${name}, and no terminal to ask for it`, {
      fields: { hint: "give it with --passphrase-file FILE, --passphrase-fd N or BRIDGE_CA_PASSPHRASE" },
    });
  }
  const typed = await readHidden(context, `Passphrase for ${name}: `);
  if (typed === "") throw new DomainError("unauthenticated", "the passphrase is empty");
  if (twice && (await readHidden(context, "The same again: ")) !== typed) {
    throw new DomainError("unauthenticated", "the two passphrases differ");
  }
  return typed;
}

function readFrom(path: string): string {
  try {
    const fd = openSync(path, "r");
    try {
      return readDescriptor(fd, path);
    } finally {
      closeSync(fd);
    }
  } catch (err) {
    throw fileError("read", path, err);
  }
}

/** Reads to the end: a pipe delivers its text in pieces. */
function readDescriptor(fd: number, name: string): string {
  try {
    fstatSync(fd);
    const buffer = Buffer.alloc(MAX_BYTES);
    let length = 0;
    for (let count = -1; count !== 0 && length < MAX_BYTES; length += count) {
      count = readSync(fd, buffer, length, MAX_BYTES - length, null);
    }
    return buffer.toString("utf8", 0, length);
  } catch (err) {
    throw fileError("read", name, err);
  }
}

function firstLine(text: string, name: string): string {
  const line = text.split(/\r?\n/, 1)[0] ?? "";
  if (line === "") throw new DomainError("unauthenticated", `the passphrase in ${name} is empty`);
  return line;
}
