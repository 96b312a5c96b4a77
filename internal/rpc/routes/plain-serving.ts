import type { Clock } from "../../base/clock.ts";
import type { Guard, PlainServing } from "../server/guard.ts";
import { answerRoute } from "./answer-route.ts";
import { answerUpgrade } from "./answer-upgrade.ts";
import type { PlainOptions, RouteAddress } from "./route.ts";

/**
 * For `RpcServerOptions.plain`: routes and upgrades that pass the same checks as RPCs and are ended in the same way.
 */
export function plainServing(clock: Clock, { routes = [], upgrades = [] }: PlainOptions): PlainServing {
  return {
    route(path: string, guard: Guard) {
      const route = routes.find((one) => isAt(one, path));
      return route && ((req, res) => answerRoute({ clock, guard }, route, req, res));
    },
    upgrade(path: string, guard: Guard) {
      const route = upgrades.find((one) => isAt(one, path));
      return route && ((req, socket, head) => answerUpgrade({ clock, guard }, route, { req, socket, head }));
    },
  };
}

function isAt({ path }: RouteAddress, asked: string): boolean {
  if (path === asked) return true;
  if (path.endsWith("/**")) return asked.startsWith(path.slice(0, -2));
  const [wanted, found] = [path.split("/"), asked.split("/")];
  return (
    wanted.length === found.length && wanted.every((part, i) => part === found[i] || (part === "*" && found[i] !== ""))
  );
}
