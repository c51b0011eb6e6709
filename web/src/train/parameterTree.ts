import { isCallable } from "../base/callable.js";
import { describe, isObject } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { guarded } from "../base/guarded.js";
import { arrayKind, isArray } from "../base/typedArray.js";
import { assertShape, floats, type Floats } from "../tensor/plainTensor.js";

/** Named tensors in objects or arrays, nested as you like. */
export type Tree = Floats | { readonly [name: string]: Tree } | readonly Tree[];

/** The deepest that trees are nested, and the most parts of a name. */
const MOST_DEPTH = 100;

/** The most entries of an object or array in a tree. An array of numbers, given by mistake, may have more. */
const MOST_ENTRIES = 2 ** 16;

/** The same tensors in one object. A name joins the names on the way with points: `layers.0.attention.Wq`. */
export type Flat = Record<string, Floats>;

/**
 * The tensors of a tree by their names. They are the same tensors, not copies.
 *
 * @throws OptionError if two tensors have one name: `{ "a.b": x, a: { b: y } }`.
 */
export function flatten(tree: Tree): Flat {
  return named("flatten", "tree", tree, ({ given }) => given);
}

/**
 * The tree of named tensors, with an object for each part of the names. `flatten` of it gives the same names.
 *
 * @throws OptionError if a name is the beginning of another one: `"a"` and `"a.b"`.
 */
export function unflatten(flat: Readonly<Flat>): { [name: string]: Tree } {
  const tensors = named("unflatten", "flat", flat, ({ given }) => given);
  return treeOf("unflatten", "flat", tensors);
}

/**
 * The tree of named tensors.
 *
 * @param argument - What has the names, for messages.
 */
export function treeOf(operation: string, argument: string, flat: Readonly<Flat>): { [name: string]: Tree } {
  const beginning = (name: string) =>
    new OptionError(`${operation}: ${argument} has ${describe(name)}, which is the beginning of another name`);
  const root: Branch = new Map();
  for (const [name, tensor] of Object.entries(flat)) {
    const keys = name.split(".");
    if (keys.length > MOST_DEPTH)
      throw new OptionError(
        `${operation}: a name in ${argument} must have at most ${MOST_DEPTH} parts, ` +
          `got ${keys.length} in ${describe(name)}`,
      );
    let branch = root;
    keys.slice(0, -1).forEach((key, n) => {
      const next: Branch | Floats = branch.get(key) ?? (new Map() as Branch);
      if (!(next instanceof Map)) throw beginning(keys.slice(0, n + 1).join("."));
      branch.set(key, next);
      branch = next;
    });
    const last = keys.at(-1)!;
    if (branch.has(last)) throw beginning(name);
    branch.set(last, tensor);
  }
  return grown(root);
}

/** A tree that is being made. */
type Branch = Map<string, Branch | Floats>;

const grown = (branch: Branch): { [name: string]: Tree } =>
  Object.fromEntries([...branch].map(([key, node]) => [key, node instanceof Map ? grown(node) : node]));

/** A tree of the same form, with `map(tensor, name)` in the place of each tensor. */
export function mapTree<T extends Tree>(tree: T, map: (tensor: Floats, name: string) => Floats): T {
  if (!isCallable(map)) throw new OptionError(`mapTree: map must be a function, got ${describe(map)}`);
  const checked = (tensor: Floats, name: string) => {
    const result: unknown = map(tensor, name);
    const at = `map() for ${describe(name)}`;
    if (isTensor("mapTree", at, result)) floats("mapTree", at, result);
    else throw new OptionError(`mapTree: ${at} must be a tensor { data, shape }, got ${describe(result)}`);
    return result;
  };
  return mapped("mapTree", "tree", tree, ({ given }, name) => checked(given, name)) as T;
}

/** Names in groups: those of a group have their numbers in the same memory, as tied weights have. */
export function sameMemory(flat: Flat): string[][] {
  const groups = new Map<ArrayBufferLike, Map<string, string[]>>();
  for (const [name, { data }] of Object.entries(flat)) {
    const inBuffer = groups.get(data.buffer) ?? new Map<string, string[]>();
    groups.set(data.buffer, inBuffer);
    const place = `${data.byteOffset} ${data.length}`;
    inBuffer.set(place, [...(inBuffer.get(place) ?? []), name]);
  }
  return [...groups.values()].flatMap((inBuffer) => [...inBuffer.values()]);
}

/** Throws if arrays share some of their memory but not all: what changes each array once would change that part twice. */
export function assertApart(operation: string, argument: string, flat: Flat): void {
  const byBuffer = new Map<ArrayBufferLike, [string, Float32Array][]>();
  for (const [name] of sameMemory(flat)) {
    const { data } = flat[name!]!;
    if (data.length === 0) continue;
    const inBuffer = byBuffer.get(data.buffer) ?? [];
    inBuffer.push([name!, data]);
    byBuffer.set(data.buffer, inBuffer);
  }
  for (const arrays of byBuffer.values()) {
    arrays.sort(([, a], [, b]) => a.byteOffset - b.byteOffset);
    arrays.slice(1).forEach(([name, { byteOffset }], n) => {
      const [before, { byteOffset: start, byteLength }] = arrays[n]!;
      if (byteOffset < start + byteLength)
        throw new OptionError(
          `${operation}: ${joined(argument, before)} and ${joined(argument, name)} must share all of their memory ` +
            `or none of it`,
        );
    });
  }
}

/** The tensors of a tree by name, each checked and read once. */
export function flatNamed(operation: string, argument: string, tree: unknown): Flat {
  return named(operation, argument, tree, ({ read }) => read);
}

/** A tensor of the caller's, and the same as it was read. */
interface Leaf {
  readonly given: Floats;
  readonly read: Floats;
}

function named(operation: string, argument: string, tree: unknown, choose: (leaf: Leaf) => Floats): Flat {
  const found = new Map<string, Floats>();
  mapped(operation, argument, tree, (leaf, name) => {
    if (found.has(name))
      throw new OptionError(`${operation}: ${argument} has two tensors with the name ${describe(name)}`);
    found.set(name, choose(leaf));
    return leaf.given;
  });
  return Object.fromEntries(found);
}

/** @param argument - What the tree is, for messages. */
function mapped(operation: string, argument: string, tree: unknown, map: (leaf: Leaf, name: string) => Floats) {
  const visit = (node: unknown, name: string, above: readonly unknown[]): Tree => {
    const at = joined(argument, name);
    if (isTensor(operation, at, node)) return map({ given: node, read: floats(operation, at, node) }, name);
    if (!isObject(node) || arrayKind(node))
      throw new OptionError(
        `${operation}: ${at} must be a tensor { data, shape } or an object of tensors, got ${describe(node)}`,
      );
    if (above.includes(node)) throw new OptionError(`${operation}: ${at} contains itself`);
    if (above.length === MOST_DEPTH)
      throw new OptionError(`${operation}: ${argument} must be nested at most ${MOST_DEPTH} deep, got ${describe(at)}`);
    const visited = guarded(operation, at, () => entriesOf(operation, at, node)).map(
      ([key, child]) => [key, visit(child, above.length === 0 ? key : `${name}.${key}`, [...above, node])] as const,
    );
    return isArray(node) ? visited.map(([, child]) => child) : Object.fromEntries(visited);
  };
  return visit(tree, "", []);
}

function entriesOf(operation: string, argument: string, node: object): [string, unknown][] {
  const count = Array.isArray(node) ? node.length : Object.keys(node).length;
  if (count > MOST_ENTRIES)
    throw new OptionError(`${operation}: ${argument} must have at most ${MOST_ENTRIES} entries, got ${count}`);
  return Object.entries(node);
}

const isTensor = (operation: string, argument: string, node: unknown): node is Floats =>
  guarded(operation, argument, () => isObject(node) && "data" in node && "shape" in node);

/** Checks that named tensors have the names and shapes of `parameters`. */
export function assertSame(operation: string, argument: string, flat: Flat, parameters: Flat): void {
  const missing = Object.keys(parameters).find((name) => !Object.hasOwn(flat, name));
  const extra = Object.keys(flat).find((name) => !Object.hasOwn(parameters, name));
  if (missing !== undefined || extra !== undefined)
    throw new OptionError(
      `${operation}: ${argument} must have the names of the parameters, but ` +
        (missing !== undefined ? `${describe(missing)} is missing` : `${describe(extra)} is not one of them`),
    );
  for (const [name, tensor] of Object.entries(flat))
    assertShape(operation, joined(argument, name), tensor, parameters[name]!.shape, "the parameter's shape,");
}

/** A place in an argument, for messages. */
const joined = (argument: string, name: string) => (name ? `${argument}.${name}` : argument);
