/** An entry of npm's lock file, with the fields that are needed here; all others are kept unchanged. */
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
 * The missing entries for optional packages. npm omits a platform's package if its registry does not have it, and then
 * refuses `npm ci` (npm 11, or any npm whose registry does have it). An entry with version and platform is enough: npm
 * skips the package on other platforms, and fetches it like any other on its own platform.
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

/** The entries that tie the lock file to one registry. */
export function addressed(entries: LockEntries): readonly string[] {
  return Object.keys(entries).filter((path) => entries[path]?.resolved !== undefined);
}

/** Sorts the entries as npm does. */
export function sorted(entries: LockEntries): LockEntries {
  return Object.fromEntries(Object.entries(entries).sort(([a], [b]) => a.localeCompare(b, "en")));
}

/** Searches as Node does: in the package's own folder, then outwards. */
function isReachable(entries: LockEntries, path: string, name: string): boolean {
  for (let place = path; ; ) {
    if (`${place === "" ? "" : `${place}/`}node_modules/${name}` in entries) return true;
    if (place === "") return false;
    place = place.slice(0, Math.max(0, place.lastIndexOf("node_modules/") - 1));
  }
}

/** The platform in a platform package's name; a package without one cannot be completed automatically. */
function platformOf(name: string): { readonly os: readonly string[]; readonly cpu: readonly string[] } {
  const words = (name.split("/").at(-1) ?? name).split("-").map((word) => CPUS[word] ?? word);
  const os = words.find((word) => SYSTEMS.includes(word));
  const cpu = os === undefined ? undefined : words[words.indexOf(os) + 1];
  if (os === undefined || cpu === undefined) throw new Error(`cannot tell the platform of "${name}" by its name`);
  const libc = os !== "linux" ? {} : { libc: [words.some((word) => word.startsWith("musl")) ? "musl" : "glibc"] };
  return { cpu: [cpu], ...libc, os: [os] };
}
