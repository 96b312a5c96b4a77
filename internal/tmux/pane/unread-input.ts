import { closeSync, constants, openSync } from "node:fs";

/** The ioctl that returns how many bytes a terminal's program still has to read. */
const FIONREAD = process.platform === "linux" ? 0x541b : 0x4004667f;

type Ioctl = (fd: number, request: number, count: Buffer) => number;
let ioctl: Promise<Ioctl> | undefined;

/**
 * The number of bytes typed into this terminal that its program has not read: more than 0 for longer than a moment
 * means that the program hangs or is stopped. Undefined if unknown, e.g. in another container. The first call loads the
 * native part, which takes up to 100 ms.
 */
export async function unreadInput(tty: string): Promise<number | undefined> {
  if (!/^\/dev\/[\w/.-]{1,200}$/.test(tty)) return undefined;
  let fd: number | undefined;
  try {
    ioctl ??= loadIoctl();
    const ask = await ioctl;
    fd = openSync(tty, constants.O_RDONLY | constants.O_NOCTTY | constants.O_NONBLOCK);
    const count = Buffer.alloc(4);
    return ask(fd, FIONREAD, count) === 0 ? count.readInt32LE(0) : undefined;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

async function loadIoctl(): Promise<Ioctl> {
  const { default: koffi } = await import("koffi");
  return koffi.load(null).func("int ioctl(int fd, unsigned long request, void *count)");
}
