import { printable } from "../../internal/base/printable-text.ts";
import type { Output } from "../../internal/cli/output.ts";
import type { ServeCommand } from "./config.ts";

/** Flags and environment were read without a fault. */
export async function check({ listen, nats }: ServeCommand, { out }: { readonly out: Output }): Promise<number> {
  out.line(printable`ok: serves ${listen.host}:${listen.port}, NATS at ${nats.url.replace(/\/\/[^@/]*@/, "//")}`);
  return 0;
}
