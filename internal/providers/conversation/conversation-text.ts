import { plainText } from "../../base/sanitise.ts";

/** The line that shows a reader the id by which the agent's own conversation can be continued. */
export function conversationText(id: string): string {
  return `● Conversation ${plainText(id).replaceAll("\n", " ").slice(0, 128)}\n`;
}
