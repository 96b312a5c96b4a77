// Runs the fake model by itself, for driving an agent by hand: prints its address, then one line per request.
import { setTimeout as sleep } from "node:timers/promises";
import { ModelServer } from "./model-server.ts";

const model = await ModelServer.listen({ wordDelayMs: Number(process.env["WORD_DELAY_MS"] ?? 0) });
process.stdout.write(`${model.url}\n`);
for (let seen = 0; ; await sleep(50)) {
  for (; seen < model.requests.length; seen += 1) {
    const request = model.requests[seen];
    process.stdout.write(`${JSON.stringify({ ...request, userTexts: request?.userTexts.slice(-3) })}\n`);
  }
}
