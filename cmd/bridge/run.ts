import { DomainError } from "../../internal/base/errors.ts";
import type { CheckCommand, Printing } from "./check.ts";

export async function run(_command: CheckCommand, _context: Printing): Promise<number> {
  throw new DomainError("unimplemented", "the bridge does not serve yet: only bridge check");
}
