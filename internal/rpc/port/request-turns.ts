/** A request that waits to begin. */
interface WaitingRequest {
  /** The caller, for taking turns among callers. */
  readonly share: string;
  /** The connection, for taking turns among those of one caller. */
  readonly connection: object;
  /** The caller has disconnected. */
  isGone(): boolean;
  begin(): void;
}

interface RequestTurnsLimits {
  /** The most requests to begin in one turn of the event loop. */
  readonly perTurn: number;
  /** The most waiting requests. */
  readonly maxWaiting: number;
  /** The most waiting requests of one caller. */
  readonly maxWaitingOfOne: number;
}

const LIMITS: RequestTurnsLimits = { perTurn: 16, maxWaiting: 8192, maxWaitingOfOne: 6144 };

interface Waiting {
  readonly byConnection: Map<object, WaitingRequest[]>;
  size: number;
}

/**
 * Schedules a server's requests. One read of one connection may contain hundreds, whose work would run before any other
 * caller's next byte, even before this process's own heartbeats. Therefore only a few begin per turn of the event loop;
 * if more have arrived, callers take turns, and each caller's connections take turns. A request whose caller
 * disconnects meanwhile never begins.
 */
export class RequestTurns {
  readonly #limits: RequestTurnsLimits;
  readonly #schedule: (turn: () => void) => void;
  /** By share; the one that has waited longest comes first. */
  readonly #waiting = new Map<string, Waiting>();
  #size = 0;
  #begun = 0;
  #isScheduled = false;

  /** `schedule`: calls `turn` in the next turn of the event loop. */
  constructor(
    limits: Partial<RequestTurnsLimits> = {},
    schedule = (turn: () => void): void => void setImmediate(turn),
  ) {
    this.#limits = { ...LIMITS, ...limits };
    this.#schedule = schedule;
  }

  /** Begins a request now or later; returns false if too many wait, and the request will not begin. */
  add(request: WaitingRequest): boolean {
    if (this.#size === 0 && this.#begun < this.#limits.perTurn) {
      this.#begin(request);
      this.#scheduleTurn();
      return true;
    }
    const waiting = this.#waiting.get(request.share) ?? { byConnection: new Map(), size: 0 };
    if (this.#size >= this.#limits.maxWaiting || waiting.size >= this.#limits.maxWaitingOfOne) return false;
    const queue = waiting.byConnection.get(request.connection) ?? [];
    queue.push(request);
    waiting.byConnection.set(request.connection, queue);
    waiting.size++;
    this.#waiting.set(request.share, waiting);
    this.#size++;
    this.#scheduleTurn();
    return true;
  }

  #scheduleTurn(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    this.#begun = 0;
    while (this.#begun < this.#limits.perTurn) {
      const next = this.#next();
      if (next === undefined) return;
      if (!next.isGone()) this.#begin(next);
    }
    this.#scheduleTurn();
  }

  #begin(request: WaitingRequest): void {
    this.#begun++;
    request.begin();
  }

  #next(): WaitingRequest | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [share, waiting] = first;
    this.#waiting.delete(share);
    const next = takeTurn(waiting.byConnection);
    waiting.size--;
    this.#size--;
    if (waiting.size > 0) this.#waiting.set(share, waiting);
    return next;
  }
}

/** Takes the oldest request of the connection whose turn it is, and moves that connection to the end. */
function takeTurn(byConnection: Map<object, WaitingRequest[]>): WaitingRequest | undefined {
  const [first] = byConnection;
  if (first === undefined) return undefined;
  const [connection, queue] = first;
  byConnection.delete(connection);
  const next = queue.shift();
  if (queue.length > 0) byConnection.set(connection, queue);
  return next;
}
