// For `node --import`: the program's wall clock is ahead by SHIFTED_CLOCK_MS (negative: behind). TLS goes by the
// machine's.
const aheadMs = Number(process.env["SHIFTED_CLOCK_MS"] ?? 0);
const TrueDate = globalThis.Date;

globalThis.Date = class extends TrueDate {
  constructor(...args: readonly unknown[]) {
    // @ts-expect-error the arguments of Date, whichever they are
    super(...(args.length === 0 ? [TrueDate.now() + aheadMs] : args));
  }

  static override now(): number {
    return TrueDate.now() + aheadMs;
  }
} as DateConstructor;
