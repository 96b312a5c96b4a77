/** The environment of a process: names and their values; undefined: not set. */
export type Environment = Readonly<Record<string, string | undefined>>;
