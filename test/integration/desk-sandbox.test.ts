import { mkdirSync, symlinkSync } from "node:fs";
import { expect, it } from "vitest";
import { deskBed } from "../support/desk/desk-bed.ts";
import { isSandboxUsable } from "../support/desk/sandbox-usable.ts";

const isUsable = isSandboxUsable("the desk's sandbox");

it.runIf(isUsable)(
  "the desk holds the customer's side in a sandbox that its probe cannot leave",
  async () => {
    await using bed = deskBed();
    const check = await bed.run(["check", "--isolation", "sandbox"]);
    expect(check).toMatchObject({ code: 0, out: expect.not.stringMatching(/OPEN|TAKEN/) });
    expect(check.out).toContain("closed: the administrator's root by path");
    const asked = await bed.run(
      ["--mode", "user", "--isolation", "sandbox"],
      "read /docs/hours.md\nread /admin/prices.md\n",
    );
    expect(asked.out).toBe("Opening hours: nine to six.\ncannot read /admin/prices.md: not allowed\n");
    // The isolation of the running front differs from the one that this start requests.
    const other = await bed.run(["--mode", "user", "--isolation", "none", "--once"], "read /docs/hours.md");
    expect(other).toMatchObject({ code: 4, out: "", err: expect.stringContaining("started differently") });
  },
  300_000,
);

it("the desk does not start without the requested isolation", async () => {
  await using bed = deskBed();
  mkdirSync(bed.path("bin"));
  for (const name of ["uname", "dirname", "readlink"]) symlinkSync(`/usr/bin/${name}`, bed.path(`bin/${name}`));
  const { code, err } = await bed.run(["--mode", "user", "--isolation", "sandbox", "--once"], "hi", {
    PATH: bed.path("bin"),
  });
  expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining("apt-get install bubblewrap") });
}, 300_000);
