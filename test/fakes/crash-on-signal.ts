// Makes a serving half end in ways that nobody can ask it for: give it by NODE_OPTIONS=--import=….
//
//   SIGUSR2   an error that nobody catches
//   SIGCONT   a rejected promise that nobody handles
//   SIGWINCH  takes memory until there is none left
if (process.argv.includes("serve")) {
  process.on("SIGUSR2", () => {
    throw new Error("a bug, for a test");
  });
  process.on("SIGCONT", () => {
    void Promise.reject(new Error("a bug in something that is not waited for, for a test"));
  });
  process.on("SIGWINCH", () => {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 100_000 }, (_, i) => ({ i })));
  });
}
