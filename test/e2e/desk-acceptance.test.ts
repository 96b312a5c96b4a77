import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DeskBed, deskBed, PLAIN_ENVIRONMENT, parseJsonLines } from "../support/desk/desk-bed.ts";
import { CLONE_DESK } from "../support/programs.ts";
import { type PersonTerminal, personTerminal } from "../support/sidecar/person-terminal.ts";

const WAIT_MS = 180_000;
/** The lines that a person types, without the line end. */
const ROWS = {
  adminReads: "1. Admin CLI can read files under /admin/**",
  userCannot: "2. User CLI cannot read files under /admin/**",
  customerReads: "3. Customer node can read files under /docs/**",
  routes: "4. Supervisor conditional routing can send an admin task to the bridge",
  rejects: "5. Bridge rejects non-supervisor callers",
  onlyInput: "6. Bridge forwards only the admin_input field",
  local: "7. System runs locally via CLI in both modes",
} as const;

const isNoForgeryTaken = (out: string) =>
  /refused \(unauthenticated\): a forged crossing/.test(out) && !/TAKEN/.test(out);

describe("by pipes", () => {
  let bed: DeskBed;
  beforeAll(() => {
    bed = deskBed({}, {}, CLONE_DESK);
  });
  afterAll(() => bed[Symbol.asyncDispose]());

  it(ROWS.adminReads, async () => {
    const { code, out } = await bed.run(["--mode", "admin"], "read /admin/prices.md\n");
    expect({ code, out }).toEqual({ code: 0, out: "supervisor │ wholesale 4.20\n" });
  });

  it(ROWS.userCannot, async () => {
    const { code, out } = await bed.run(["--mode", "user"], "read /admin/prices.md\n");
    expect({ code, out }).toEqual({ code: 0, out: "cannot read /admin/prices.md: not allowed\n" });
  });

  it(ROWS.customerReads, async () => {
    const { out } = await bed.run(["--mode", "user"], "read /docs/hours.md\n");
    expect(out).toBe("Opening hours: nine to six.\n");
    const relayed = await bed.run(["--mode", "admin"], "tell customers to see /docs/hours.md\n");
    expect(relayed.out).toContain("customer │ Opening hours: nine to six.");
  });

  it(ROWS.routes, async () => {
    const { out } = await bed.run(["--mode", "admin"], "tell customers we close at five today\n");
    expect(out).toContain("→ customer (rule 1); crossed: 37 bytes to main\n");
    const asked = await bed.run(["--mode", "user"], "when do you close today?\n");
    expect(asked.out).toBe("tell customers we close at five today\n");
  });

  it(ROWS.rejects, async () => {
    const { code, out } = await bed.run(["check"]);
    expect(code).toBe(0);
    expect(out).toSatisfy(isNoForgeryTaken);
  });

  it(ROWS.onlyInput, async () => {
    const text = "inform customers: stock is low";
    await bed.run(["--mode", "admin"], `read /admin/prices.md\n${text}\n`);
    const crossed = bed.records("front").findLast(({ type }) => type === "crossing");
    expect(Object.keys(crossed ?? {}).sort()).toEqual(["admin_input", "at", "id", "thread", "turn", "type"]);
    expect(crossed?.["admin_input"]).toBe(text);
    expect(JSON.stringify(bed.records("front"))).not.toContain("wholesale");
    const { out } = await bed.run(["transcript", "--json"]);
    expect(parseJsonLines(out).at(-1)).toMatchObject({
      crossing: { admin_input: text, bytes: 30, outcome: "SUBMITTED" },
      withheld: expect.arrayContaining([expect.objectContaining({ channel: "history" })]),
    });
  });

  it(ROWS.local, async () => {
    const admin = await bed.run(["--mode", "admin"], "exit\nread /admin/prices.md\n");
    const user = await bed.run(["--mode", "user"], "quit\nread /docs/hours.md\n");
    expect([admin, user]).toEqual([
      { code: 0, out: "", err: "" },
      { code: 0, out: "", err: "" },
    ]);
  });
});

describe("in a terminal", () => {
  let bed: DeskBed;
  let admin: PersonTerminal;
  let user: PersonTerminal;

  beforeAll(async () => {
    bed = deskBed({}, {}, CLONE_DESK);
    const at = (command: string) =>
      personTerminal({ command: `cd ${bed.folder} && "${CLONE_DESK}" ${command}`, env: PLAIN_ENVIRONMENT, rows: 60 });
    admin = at("--mode admin");
    user = at("--mode user");
    await Promise.all([admin.sees("admin> ", WAIT_MS), user.sees("you> ", WAIT_MS)]);
  });
  afterAll(async () => {
    await Promise.all([admin[Symbol.asyncDispose](), user[Symbol.asyncDispose]()]);
    await bed[Symbol.asyncDispose]();
  });

  /** Types a line; resolves once the answer and the next prompt are on the screen. */
  async function ask(person: PersonTerminal, line: string, answer: string): Promise<void> {
    person.type(`${line}\r`);
    await person.sees(answer, WAIT_MS);
    await person.sees(() => /> $/.test(person.text().trimEnd().concat(" ")), WAIT_MS);
  }

  it(ROWS.adminReads, () => ask(admin, "read /admin/prices.md", "supervisor │ wholesale 4.20"));

  it(ROWS.userCannot, () => ask(user, "read /admin/prices.md", "cannot read /admin/prices.md: not allowed"));

  it(ROWS.customerReads, () => ask(user, "read /docs/hours.md", "Opening hours: nine to six."));

  it(ROWS.routes, async () => {
    await ask(admin, "tell customers we close at five today", "→ customer (rule 1); crossed: 37 bytes to main");
    await ask(user, "when do you close today?", "tell customers we close at five today");
  });

  it(ROWS.rejects, async () => {
    await using shell = personTerminal({
      command: `cd ${bed.folder} && "${CLONE_DESK}" check; echo "code $?"`,
      env: PLAIN_ENVIRONMENT,
      rows: 80,
    });
    await shell.sees("code 0", WAIT_MS);
    expect(shell.text()).toSatisfy(isNoForgeryTaken);
  });

  it(ROWS.onlyInput, async () => {
    await ask(admin, "ask customers about parking", "crossed: 27 bytes to main");
    await using shell = personTerminal({
      command: `cd ${bed.folder} && "${CLONE_DESK}" transcript; echo "code $?"`,
      env: PLAIN_ENVIRONMENT,
      rows: 80,
    });
    await shell.sees("code 0", WAIT_MS);
    expect(shell.text()).toMatch(/crossed {2}│ 27 bytes to main: SUBMITTED/);
    expect(shell.text()).toMatch(/withheld │ history \d+, intent \d+/);
  });

  it(ROWS.local, async () => {
    admin.type("exit\r");
    user.type("\u0004"); // Ctrl-D at an empty prompt
    await Promise.all([admin.sees(/\$\s*$/, WAIT_MS), user.sees(/\$\s*$/, WAIT_MS)]);
    admin.type('echo "code $?"\r');
    user.type('echo "code $?"\r');
    await Promise.all([admin.sees("code 0", WAIT_MS), user.sees("code 0", WAIT_MS)]);
  });
});
