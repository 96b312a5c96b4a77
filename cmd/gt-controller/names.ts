/** The names that the chart's templates derive from the release. */
export function chartNames(release: string, client: string) {
  return {
    clientSecret: `${release}-client-${client}`,
    issuersSecret: `${release}-issuers`,
    relay: { configMap: `${release}-relay`, secret: `${release}-relay-tls` },
  };
}
