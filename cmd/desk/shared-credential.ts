/** Values that are locations or settings, and give no access. */
const PLAIN_VALUES: readonly RegExp[] = [
  /^(true|false|yes|no|on|off)$/i,
  /^\d{1,6}$/,
  /^[a-z]{2}(-[a-z]+)+-\d$/, // a region
  /^\/[^\s:@]*$/, // a path
  /^https?:\/\/[^\s@?#]*$/, // an address without a password or a query
  /^(?:[a-z.]+[./])?(?:claude|gpt|gemini|o\d)-[a-z0-9.:-]{1,48}$/, // a model
];

type Variables = Readonly<Record<string, string>>;

/**
 * The name of a variable of `customer` that has the same value as a variable of `supervisor`, if that value may be a
 * credential. Names are not compared: each side may call a credential differently. Every value that is not evidently a
 * plain setting may be a credential.
 */
export function sharedCredential(supervisor: Variables, customer: Variables): string | undefined {
  const values = new Set(Object.values(supervisor).filter(mayBeCredential));
  return Object.entries(customer).find(([, value]) => values.has(value))?.[0];
}

function mayBeCredential(value: string): boolean {
  return value !== "" && !PLAIN_VALUES.some((plain) => plain.test(value));
}
