import { expect, it } from "vitest";
import { deskBed } from "../support/desk/desk-bed.ts";

const BUSY_MS = 300_000;
const CONFIG = "version: 1\nsupervisor: {}\ncustomer: {}\nlimits: { threads: 2 }\n";

it(
  "a full desk accepts new threads: it forgets the one idle longest, and journals that",
  async () => {
    await using bed = deskBed({ "desk.yaml": CONFIG });
    const tell = (to: string) => ({ text: `tell customers ${to} parks in the yard`, to, thread: `admin-${to}` });
    const told = await bed.events("admin", ["k1", "k2", "k3"].map(tell));
    expect(told.filter(({ type }) => type === "crossed")).toHaveLength(3);

    const answers = async (threads: readonly string[]) => {
      const events = await bed.events(
        "user",
        threads.map((thread) => ({ thread, text: "who parks in the yard?" })),
      );
      expect(events.filter(({ outcome }) => outcome === "done")).toHaveLength(threads.length);
      return events.flatMap(({ type, text }) => (type === "answer" ? [text] : []));
    };
    const nothing = "no file that I can read has any of these words";
    const told2 = "tell customers k2 parks in the yard";
    expect(await answers(["u1", "u2", "u3", "k1", "k2"])).toEqual([nothing, nothing, nothing, nothing, told2]);
    await bed.endFronts();
    expect(await answers(["k1", "k2"])).toEqual([nothing, told2]);

    const forgotten = (half: "back" | "front") =>
      bed.records(half).flatMap(({ type, thread }) => (type === "forgotten" ? [thread] : []));
    expect(forgotten("back")).toEqual(["admin-k1"]);
    expect(forgotten("front")).toEqual(["k1", "u1", "u2"]);
  },
  BUSY_MS,
);
