import { DomainError } from "../../base/errors.ts";
import { isLoopbackHost } from "../../base/loopback.ts";

/**
 * Checks the URL of a server.
 * @throws DomainError `invalid` if the text is not an http or https URL, or if a token would leave the machine in
 *     plaintext
 */
export function checkServerUrl(text: string): void {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.search !== "") {
    throw new DomainError(
      "invalid",
      `--threads takes a URL such as http://127.0.0.1:9448, not ${JSON.stringify(text)}`,
    );
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.protocol === "https:" || isLoopbackHost(host)) return;
  throw new DomainError("invalid", `--threads: cannot send a token to ${host} in plaintext`, {
    fields: { hint: "use https://" },
  });
}
