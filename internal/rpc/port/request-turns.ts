/** One request that has come, and what happens to it. */
interface WaitingRequest {
  /** Whose it is: callers have their turn one after the other. */
  readonly share: string;
  /** Over which connection it came: those of one caller have their turn one after the other. */
  readonly connection: object;
  /** Its caller has gone away. */
  isGone(): boolean;
  begin(): void;
}

interface RequestTurnsLimits {
  /** Requests that begin in one turn of the event loop. */
  readonly perTurn: number;
  /** Requests that wait. */
  readonly maxWaiting: number;
  /** Of these, how many may be one caller's. */
  readonly maxWaitingOfOne: number;
}

const LIMITS: RequestTurnsLimits = { perTurn: 16, maxWaiting: 8192, maxWaitingOfOne: 6144 };

interface Waiting {
  readonly byConnection: Map<object, WaitingRequest[]>;
  size: number;
}

/**
 * When the requests of a server begin. One read of one connection can hold hundreds of them, and what all of them do
 * would come before the next word of any other caller, even before the signs of life of this process. So a few begin in
 * each turn of the event loop; while more than that have come, each caller has its turn, and of a caller each
 * connection. A request whose caller goes away meanwhile never begins.
 */
export class RequestTurns {
  readonly #limits: RequestTurnsLimits;
  readonly #schedule: (turn: () => void) => void;
  /** By share; who comes first has waited longest. */
  readonly #waiting = new Map<string, Waiting>();
  #size = 0;
  #begun = 0;
  #isScheduled = false;

  /** `schedule`: calls back in the next turn of the event loop. */
  constructor(
    limits: Partial<RequestTurnsLimits> = {},
    schedule = (turn: () => void): void => void setImmediate(turn),
  ) {
    this.#limits = { ...LIMITS, ...limits };
    this.#schedule = schedule;
  }

  /** Begins a request now or later; false when too many wait already, and it never will. */
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

/** The oldest request of the connection whose turn it is, which then is the last to have another. */
function takeTurn(byConnection: Map<object, WaitingRequest[]>): WaitingRequest | undefined {
  const [first] = byConnection;
  if (first === undefined) return undefined;
  const [connection, queue] = first;
  byConnection.delete(connection);
  const next = queue.shift();
  if (queue.length > 0) byConnection.set(connection, queue);
  return next;
}
