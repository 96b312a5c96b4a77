// Holds a session with the agent whose program and arguments follow, prints its pid, and stays.
import { makeProvider, ProviderSession } from "../support/agents/provider-session.ts";

const [binary = "", ...leading] = process.argv.slice(2);
const session = await ProviderSession.start(makeProvider({ provider: "demo", binary, leading }), process.cwd());
await session.send("go", "host-1");
await session.until("the child", ({ text }) => /child \d+/.test(text));
process.stdout.write(`agent ${session.handle.pid} ${session.text}`);
await session.read;
