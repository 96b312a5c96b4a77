import { describe, expect, it } from "vitest";
import { RIGHTS, relayPermissions, sessionPermissions } from "./permissions.ts";
import { streamNames } from "./stream-specs.ts";

const streams = streamNames("RELAY");

it("gives the relay only its own subjects: no wildcard matches every subject", () => {
  const { publish, subscribe } = relayPermissions(streams);
  for (const subject of [...publish, ...subscribe]) expect(subject).toMatch(/^(sessions|relay|\$JS|_INBOX_relay)\./);
  expect(publish.filter((subject) => subject.startsWith("$JS.API.") && !subject.includes("RELAY_"))).toEqual([]);
});

describe("the user of a session", () => {
  const all = sessionPermissions(streams, "s1", RIGHTS);

  it("contains its session's name in each subject, and wildcards only after it", () => {
    for (const subject of [...all.publish, ...all.subscribe]) {
      const [before = "", ...rest] = subject.split(/(?<=[._-])s1(?=\.|$)/);
      expect([before.includes("*"), rest.length > 0], subject).toEqual([false, true]);
    }
  });

  it("may do what its rights allow; without rights it has only its inbox", () => {
    const none = sessionPermissions(streams, "s1", []);
    expect(none).toMatchObject({ publish: [], subscribe: ["_INBOX_s1.>"], answers: undefined });
    const [submit, read, approve] = RIGHTS.map((right) => sessionPermissions(streams, "s1", [right]));
    expect(submit?.publish).toEqual(["sessions.s1.work.*", "sessions.s1.control.*"]);
    expect(approve?.publish).toEqual(["sessions.s1.approvals"]);
    expect(read?.publish.every((subject) => subject.startsWith("$JS."))).toBe(true);
  });
});
