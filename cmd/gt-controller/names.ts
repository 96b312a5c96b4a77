/** What the chart names after its release, as its templates do. */
export function chartNames(release: string, client: string) {
  return { clientSecret: `${release}-client-${client}`, issuersSecret: `${release}-issuers` };
}
