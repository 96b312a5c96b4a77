export const rooms: Readonly<Record<string, readonly string[]>>;
