export const rooms: Readonly<Record<string, readonly string[]>>;
export const transitional: Readonly<Record<string, readonly string[]>>;
