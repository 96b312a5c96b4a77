/** What this needs of an entry in npm's lock file; everything else is kept as it is. */
export interface LockEntry {
  readonly version?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export type LockEntries = Readonly<Record<string, LockEntry>>;

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const CPUS: Readonly<Record<string, string>> = { aarch64: "arm64", armv7: "arm", windows: "win32" };

/**
 * Entries for optional packages that the lock file wants but does not have. npm leaves a platform's package out when
 * the registry it asks does not carry it, and then refuses `npm ci` (npm 11, or any npm whose registry does carry it).
 * An entry with version and platform is enough: it is skipped elsewhere, and fetched like any other where it fits.
 */
export function missingOptional(entries: LockEntries): LockEntries {
  const missing: Record<string, LockEntry> = {};
  for (const [path, entry] of Object.entries(entries)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (isReachable(entries, path, name)) continue;
      missing[`node_modules/${name}`] = { version, ...platformOf(name), optional: true };
    }
  }
  return missing;
}

/** Entries that tie the lock file to one registry. */
export function addressed(entries: LockEntries): readonly string[] {
  return Object.keys(entries).filter((path) => entries[path]?.resolved !== undefined);
}

/** npm's own order. */
export function sorted(entries: LockEntries): LockEntries {
  return Object.fromEntries(Object.entries(entries).sort(([a], [b]) => a.localeCompare(b, "en")));
}

/** Looks where Node would: in the package's own folder, then outwards. */
function isReachable(entries: LockEntries, path: string, name: string): boolean {
  for (let place = path; ; ) {
    if (`${place === "" ? "" : `${place}/`}node_modules/${name}` in entries) return true;
    if (place === "") return false;
    place = place.slice(0, Math.max(0, place.lastIndexOf("node_modules/") - 1));
  }
}

/** Platform packages say in their name where they run; one that does not cannot be completed by itself. */
function platformOf(name: string): { readonly os: readonly string[]; readonly cpu: readonly string[] } {
  const words = (name.split("/").at(-1) ?? name).split("-").map((word) => CPUS[word] ?? word);
  const os = words.find((word) => SYSTEMS.includes(word));
  const cpu = os === undefined ? undefined : words[words.indexOf(os) + 1];
  if (os === undefined || cpu === undefined) throw new Error(`cannot tell the platform of "${name}" by its name`);
  const libc = os !== "linux" ? {} : { libc: [words.some((word) => word.startsWith("musl")) ? "musl" : "glibc"] };
  return { cpu: [cpu], ...libc, os: [os] };
}
