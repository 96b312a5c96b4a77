const SAN_ENTRY = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?=, |$)/gy;

/**
 * URI names of a subjectAltName as Node prints it: `URI:spiffe://a/b, DNS:x`. Values with a comma, a quote or a control
 * character stand in JSON quotes there, so that one name cannot pose as two. Anything that does not parse to the end
 * gives no names at all.
 */
export function urisOf(subjectAltName: string): string[] {
  return namesOf(subjectAltName, "URI");
}

/** DNS names in the same way. */
export function dnsNamesOf(subjectAltName: string): string[] {
  return namesOf(subjectAltName, "DNS");
}

function namesOf(subjectAltName: string, wanted: "URI" | "DNS"): string[] {
  const names: string[] = [];
  let end = 0;
  for (const entry of subjectAltName.matchAll(SAN_ENTRY)) {
    const [text, type, value = ""] = entry;
    end = entry.index + text.length;
    if (type === wanted) names.push(value.startsWith('"') ? String(JSON.parse(value)) : value);
  }
  return end === subjectAltName.length ? names : [];
}
