// For `node --import`: shifts the program's wall clock ahead by SHIFTED_CLOCK_MS (negative: behind). TLS still uses the
// machine's clock.
const aheadMs = Number(process.env["SHIFTED_CLOCK_MS"] ?? 0);
const TrueDate = globalThis.Date;

globalThis.Date = class extends TrueDate {
  constructor(...args: readonly unknown[]) {
    // @ts-expect-error Date accepts several lists of arguments
    super(...(args.length === 0 ? [TrueDate.now() + aheadMs] : args));
  }

  static override now(): number {
    return TrueDate.now() + aheadMs;
  }
} as DateConstructor;
