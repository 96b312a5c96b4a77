import type { LaneDeps } from "../lanes/lane-deps.ts";
import type { FrameChannel } from "./frame-channel.ts";

/** Stops reading a peer while the outbox is full, since its answers would find no room. */
export function holdWhileFull(outbox: LaneDeps["outbox"], channel: FrameChannel): void {
  if (channel.ended.aborted) return;
  const follow = () => channel.hold(outbox.isFull);
  follow();
  channel.ended.addEventListener("abort", outbox.changes.listen(follow), { once: true });
}
