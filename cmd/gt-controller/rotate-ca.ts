import { DomainError } from "../../internal/base/errors.ts";
import { printable } from "../../internal/base/printable-text.ts";
import type { RotationState } from "../../internal/controller/certificates/ca-rotation.ts";
import { changesOf } from "../../internal/controller/certificates/ca-rotator.ts";
import { readCaSecret } from "../../internal/controller/certificates/ca-secret.ts";
import { introduceSuccessor } from "../../internal/controller/certificates/ca-successor.ts";
import { SecretClient } from "../../internal/controller/certificates/secret-client.ts";
import type { ClusterOptions } from "./config.ts";
import type { ControllerContext } from "./context.ts";
import { openCluster, readConfigFile } from "./open-cluster.ts";

/**
 * Starts a rotation of the CA with a single write, unless one is under way or only a report is requested; the leading
 * replica completes the rotation. Prints its progress.
 */
export async function rotateCa(
  { clock, logger, signal, out }: ControllerContext,
  command: ClusterOptions & { readonly onlyReport: boolean },
): Promise<number> {
  const { settings } = await readConfigFile(command.configFile);
  const { namespace, secret: name, keepPreviousMs } = settings.ca;
  await using cluster = await openCluster(command, { clock, logger });
  const secrets = new SecretClient(cluster.api);
  const secret = await secrets.get(namespace, name, signal);
  if (secret === undefined) throw new DomainError("not-found", `there is no Secret ${namespace}/${name}`);
  const now = clock.now();
  const see = printable`see      kubectl -n ${namespace} describe secret ${name}`;
  if (command.onlyReport) {
    const { state } = readCaSecret(secret.data, now);
    out.line(printable`${state.type === "steady" ? "at rest" : "under way"}  ${textOf(state, keepPreviousMs)}`);
    out.line(see);
    return 0;
  }
  const begun = await introduceSuccessor(secret.data, { trustDomain: settings.trustDomain, now });
  if (begun !== secret.data) await secrets.patch(namespace, name, changesOf(secret.data, begun), secret, signal);
  out.line(
    printable`${begun === secret.data ? "under way" : "begun"}  ${textOf(readCaSecret(begun, now).state, keepPreviousMs)}`,
  );
  out.line(see);
  return 0;
}

function textOf(state: RotationState, keepPreviousMs: number): string {
  switch (state.type) {
    case "steady":
      return "steady: one CA";
    case "introducing":
      return "introducing: the new CA is being added to every bundle";
    case "reissuing":
      return `reissuing: the new CA signs; the old one is accepted at least until ${new Date(state.since + keepPreviousMs).toISOString()}`;
    case "retiring":
      return "retiring: the old CA is being removed from every bundle";
  }
}
