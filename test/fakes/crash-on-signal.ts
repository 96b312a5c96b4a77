// Makes a serving half fail in ways that no request can cause. Load this file with NODE_OPTIONS=--import=….
//
//   SIGUSR2   an uncaught error
//   SIGCONT   an unhandled rejection
//   SIGWINCH  allocates memory until none is left
if (process.argv.includes("serve")) {
  process.on("SIGUSR2", () => {
    throw new Error("a bug, for a test");
  });
  process.on("SIGCONT", () => {
    void Promise.reject(new Error("a bug in work that nothing awaits, for a test"));
  });
  process.on("SIGWINCH", () => {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 100_000 }, (_, i) => ({ i })));
  });
}
