/**
 * The largest flow through layers of n nodes each, from a node of the first layer to a node of the last one (Dinic
 * 1970). Arcs lead from each layer to the next.
 *
 * Each phase measures the distances of all nodes from the source. Then it fills paths on which the distance grows by 1 at
 * every step, until none is left. The sink is farther away in every phase, so there are fewer phases than nodes. Every
 * path takes all that is left of one of its arcs, so a phase also ends with rounded numbers.
 *
 * @param capacities - For each step from a layer to the next one `[n, n]`: from node i to node j, 0 or more.
 */
export function maxFlow(capacities: readonly Float64Array[], n: number, source: number, sink: number): number {
  const network = new Network(capacities, n);
  const last = capacities.length * n + sink;
  let flow = 0;
  while (network.reaches(source, last)) flow += network.fill(source, last);
  return flow;
}

/**
 * What is left of the arcs. Node i of layer l is node l·n + i. Each has 2n arcs: arc a leads to node a of the next layer,
 * and arc n + a to node a of the layer before, where it takes flow back.
 */
class Network {
  readonly #left: Float64Array;
  readonly #distance: Int32Array;
  /** The first arc of each node that may still be open in this phase. */
  readonly #next: Int32Array;

  constructor(
    capacities: readonly Float64Array[],
    readonly n: number,
  ) {
    const nodes = (capacities.length + 1) * n;
    this.#distance = new Int32Array(nodes);
    this.#next = new Int32Array(nodes);
    this.#left = new Float64Array(nodes * 2 * n);
    capacities.forEach((step, layer) => {
      for (let i = 0; i < n; i++) this.#left.set(step.subarray(i * n, (i + 1) * n), (layer * n + i) * 2 * n);
    });
  }

  /** Measures all distances from the source, and says whether there is a way to the sink. */
  reaches(source: number, sink: number): boolean {
    this.#distance.fill(-1);
    this.#distance[source] = 0;
    const queue = [source];
    for (const node of queue)
      for (let arc = 0; arc < 2 * this.n; arc++) {
        if (this.#leftOf(node, arc) <= 0) continue;
        const target = this.#target(node, arc);
        if (this.#distance[target] !== -1) continue;
        this.#distance[target] = this.#distance[node]! + 1;
        queue.push(target);
      }
    return this.#distance[sink] !== -1;
  }

  /** Fills paths until the sink is cut off, and gives the flow that they carry. */
  fill(source: number, sink: number): number {
    this.#next.fill(0);
    let flow = 0;
    const path = [source];
    for (;;) {
      const node = path.at(-1)!;
      if (node === sink) flow += this.#push(path);
      else if (this.#advance(node)) path.push(this.#target(node, this.#next[node]!));
      else if (node === source) return flow;
      else {
        path.pop();
        this.#next[path.at(-1)!]!++;
      }
    }
  }

  /** Sends as much as possible along a path. What stays of the path ends before the arc that is now full. */
  #push(path: number[]): number {
    const nodes = path.slice(0, -1);
    const left = nodes.map((node) => this.#leftOf(node, this.#next[node]!));
    const amount = left.reduce((least, each) => Math.min(least, each));
    for (const node of nodes) {
      const arc = this.#next[node]!;
      this.#left[node * 2 * this.n + arc]! -= amount;
      const opposite = (node % this.n) + (arc < this.n ? this.n : 0);
      this.#left[this.#target(node, arc) * 2 * this.n + opposite]! += amount;
    }
    path.length = left.indexOf(amount) + 1;
    return amount;
  }

  /** Moves to the next open arc of a node, if there is one: with something left, and away from the source. */
  #advance(node: number): boolean {
    for (; this.#next[node]! < 2 * this.n; this.#next[node]!++) {
      const arc = this.#next[node]!;
      if (this.#leftOf(node, arc) <= 0) continue;
      if (this.#distance[this.#target(node, arc)] === this.#distance[node]! + 1) return true;
    }
    return false;
  }

  #leftOf(node: number, arc: number): number {
    return this.#left[node * 2 * this.n + arc]!;
  }

  #target(node: number, arc: number): number {
    const layer = node - (node % this.n);
    return layer + (arc < this.n ? this.n : -2 * this.n) + arc;
  }
}
