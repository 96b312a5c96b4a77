/** The names that the chart's templates derive from the release. */
export function chartNames(release: string, client: string) {
  return { clientSecret: `${release}-client-${client}`, issuersSecret: `${release}-issuers` };
}
