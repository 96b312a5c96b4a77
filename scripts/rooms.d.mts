export const rooms: Readonly<Record<string, readonly string[]>>;
export const forTests: Readonly<Record<string, readonly string[]>>;
