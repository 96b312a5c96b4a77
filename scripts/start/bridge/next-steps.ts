import { shellPath } from "../gt-commands.ts";
import { CALLER, type TourFiles } from "./throwaway-trust.ts";
import { TOUR_SESSION } from "./tour.ts";

export interface TourPlace {
  /** The folder of the clone. */
  readonly root: string;
  readonly home: string | undefined;
  readonly port: number;
}

/** The commands that a person can paste into another terminal while the bridge runs. */
export function nextSteps({ root, home, port }: TourPlace, files: TourFiles): readonly string[] {
  const { ca, cert, key, tokenKey, profiles } = files;
  const quoted = (path: string) => shellPath(path, home);
  const gt = quoted(`${root}/cmd/gt/gt`);
  const withProfile = `XDG_CONFIG_HOME=${quoted(profiles)} ${gt}`;
  const call = (method: string, body: string) =>
    [
      `curl -sS --cacert ${quoted(ca)} --cert ${quoted(cert)} --key ${quoted(key)}`,
      `-H "authorization: Bearer $TOKEN" -H 'content-type: application/json'`,
      `-d '${body}' https://127.0.0.1:${port}/bridge.v1.BridgeService/${method}`,
    ].join(" \\\n    ");
  const grpcurl = `grpcurl -cacert ${quoted(ca)} -cert ${quoted(cert)} -key ${quoted(key)}`;
  return [
    [
      `${withProfile} agents`,
      `${withProfile} nudge ${TOUR_SESSION} "hello from gt"`,
      `${withProfile} peek ${TOUR_SESSION}`,
    ].join("\n"),
    `TOKEN=$(${gt} token --jwt-key ${quoted(tokenKey)} --jwt-issuer ${CALLER} --project ${CALLER})`,
    call("ListSessions", "{}"),
    call("SendInput", JSON.stringify({ session_id: TOUR_SESSION, text: "hello again" })),
    [
      `${grpcurl} -H "authorization: Bearer $TOKEN"`,
      `-d '${JSON.stringify({ session_id: TOUR_SESSION })}' 127.0.0.1:${port} bridge.v1.BridgeService/StreamEvents`,
    ].join(" \\\n    "),
  ];
}
