import { DomainError } from "../../base/errors.ts";
import { type Channels, type Frozen, readable, written } from "./contract.ts";

/** One step of a turn, as the node sees it. */
export interface Step {
  readonly turn: string;
  readonly signal: AbortSignal;
  /** For a node behind a guarded edge: proof that this turn came over it. */
  readonly pass?: unknown;
}

/** The result of a node: values for channels of `writes`, and no others. */
type Writes<S, W extends keyof S> = Partial<Pick<S, W>> & { readonly [K in Exclude<keyof S, W>]?: never };

/** A node: a function between the channels that it reads and those that it writes. */
export interface Node<S extends object, R extends keyof S = keyof S, W extends keyof S = keyof S> {
  readonly name: string;
  readonly reads: readonly R[];
  readonly writes: readonly W[];
  run(state: Frozen<Pick<S, R>>, step: Step): Promise<Writes<S, W>>;
}

/** Declares a node of a state; the compiler holds `run` to `reads` and `writes`. */
export function nodeOf<S extends object>() {
  return <const R extends keyof S, const W extends keyof S>(node: Node<S, R, W>): Node<S, R, W> => node;
}

/** The only edge that depends on the state: from the first node to one of several. */
interface Edge<S extends object, R extends keyof S> {
  readonly reads: readonly R[];
  readonly to: Readonly<Record<string, Node<S>>>;
  /** Targets that get a pass. */
  readonly guarded: readonly string[];
  /** The name of a target. */
  choose(state: Frozen<Pick<S, R>>): string;
}

export interface Graph<S extends object, R extends keyof S = never> {
  readonly channels: Channels<S>;
  readonly first: Node<S>;
  readonly edge?: Edge<S, R>;
}

/** Made by the engine alone, when a turn goes over a guarded edge. */
class EdgePass {
  readonly #turn: string;
  readonly #node: string;
  #isSpent = false;

  constructor(turn: string, node: string) {
    this.#turn = turn;
    this.#node = node;
  }

  static spend(pass: unknown, turn: string, node: string): boolean {
    if (typeof pass !== "object" || pass === null || !(#isSpent in pass)) return false;
    if (pass.#isSpent || pass.#turn !== turn || pass.#node !== node) return false;
    pass.#isSpent = true;
    return true;
  }
}

/** True once, for the pass that the engine made for this node in this turn; false for a copy or an imitation. */
export function spendPass(pass: unknown, turn: string, node: string): boolean {
  return EdgePass.spend(pass, turn, node);
}

/**
 * Runs a turn: the first node, then the one that the edge chooses. `input` has the channels that the turn begins with.
 * Each result is checked before any of it is written. Nothing else reads or changes the state.
 * @returns the state at the turn's end
 * @throws ContractViolation; whatever a node throws
 */
export async function runTurn<S extends object, R extends keyof S>(
  graph: Graph<S, R>,
  input: S,
  step: Omit<Step, "pass">,
): Promise<S> {
  const { first, edge } = graph;
  const begun = await runNode(graph.channels, first, input, step);
  if (edge === undefined) return begun;
  const chosen = edge.choose(readable(begun, edge.reads));
  const next = Object.hasOwn(edge.to, chosen) ? edge.to[chosen] : undefined;
  if (next === undefined) throw new DomainError("precondition", "the edge leads to no node");
  const pass = edge.guarded.includes(chosen) ? new EdgePass(step.turn, next.name) : undefined;
  return await runNode(graph.channels, next, begun, { ...step, pass });
}

async function runNode<S extends object>(channels: Channels<S>, node: Node<S>, state: S, step: Step): Promise<S> {
  step.signal.throwIfAborted();
  const result: unknown = await node.run(readable(state, node.reads), step);
  const writes = node.writes as readonly (keyof S & string)[];
  return { ...state, ...written(channels, { name: node.name, writes }, result) };
}
