import { createServer } from "node:net";

/** The preferred port if it is free, else any free port. */
export async function preferredPort(favourite: number): Promise<number> {
  return (await tried(favourite)) ?? (await tried(0)) ?? 0;
}

function tried(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer().once("error", () => resolve(undefined));
    probe.listen(port, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" ? address?.port : undefined));
    });
  });
}
