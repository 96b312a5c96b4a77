/** Whether a text is the URL of a PostgreSQL. */
export function isDatabaseUrl(text: string): boolean {
  return /^postgres(ql)?:\/\/[\x21-\x7e]*$/.test(text);
}
