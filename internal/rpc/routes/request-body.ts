import { DomainError } from "../../base/errors.ts";

/** Reads the body of a route's request; undefined if it is larger than the route's `maxBodyBytes`. */
export async function requestBody(request: Request): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return new Uint8Array(await request.arrayBuffer());
  } catch (err) {
    if (err instanceof DomainError && err.kind === "exhausted") return undefined;
    throw err;
  }
}
