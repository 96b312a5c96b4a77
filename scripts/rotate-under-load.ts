// Replaces certificates, CAs, token keys and revocation lists under load for some minutes, and counts failed calls.
// Usage: node scripts/launch.mjs scripts/rotate-under-load.ts [rounds] [callers]
import { rotateUnderLoad } from "../test/support/bridge/rotation-load.ts";

const [rounds = "30", callers = "50"] = process.argv.slice(2);
const began = Date.now();
const { calls, failed } = await rotateUnderLoad({ rounds: Number(rounds), callers: Number(callers), stepMs: 2000 });
const seconds = Math.round((Date.now() - began) / 1000);
process.stdout.write(`${seconds} s, ${calls} calls, ${failed.length} failed\n`);
for (const failure of new Set(failed)) process.stdout.write(`  ${failure}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
