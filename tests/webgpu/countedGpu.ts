import { prototypeOf, replace, STEPS, type Method } from "./faultyGpu.js";

/** What is counted, and the class that has the method. */
const COUNTED = {
  createBuffer: "GPUDevice",
  createBindGroup: "GPUDevice",
  createComputePipelineAsync: "GPUDevice",
  beginComputePass: "GPUCommandEncoder",
  dispatchWorkgroups: "GPUComputePassEncoder",
  writeBuffer: "GPUQueue",
  submit: "GPUQueue",
} as const;

export type Counts = Record<keyof typeof COUNTED, number> & {
  /** How often the work waited for an answer of the GPU process. Answers that were awaited together count once. */
  readonly waits: number;
};

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Counts what calls do on all devices. While it counts, the GPU process answers only when nothing else goes on. */
export class CountedGpu {
  readonly #counts = new Map<string, number>();
  readonly #restore: (() => void)[];
  #held: (() => Promise<unknown>)[] = [];
  #counting = false;

  constructor() {
    const counting = Object.entries(COUNTED).map(([name, type]) =>
      replace(prototypeOf(type), name, (original) => this.#counted(name, original)),
    );
    const answering = STEPS.map(([type, name]) =>
      replace(prototypeOf(type), name, (original) => this.#answered(original)),
    );
    this.#restore = [...counting, ...answering];
  }

  /** Does `work` and counts. */
  async count(work: () => Promise<unknown>): Promise<Counts> {
    this.#counts.clear();
    this.#counting = true;
    let isDone = false;
    const end = work().finally(() => (isDone = true));
    end.catch(() => undefined);
    let waits = 0;
    for (await turn(); !isDone; await turn()) {
      if (this.#held.length === 0) continue;
      waits += 1;
      await this.#answer();
    }
    this.#counting = false;
    await this.#answer();
    await end;
    const counts = Object.keys(COUNTED).map((name) => [name, this.#counts.get(name) ?? 0]);
    return { ...(Object.fromEntries(counts) as Counts), waits };
  }

  /** The number of calls of a method since the count began. */
  soFar(name: keyof typeof COUNTED): number {
    return this.#counts.get(name) ?? 0;
  }

  restore(): void {
    for (const restore of this.#restore) restore();
  }

  async #answer(): Promise<void> {
    await Promise.all(this.#held.splice(0).map((answer) => answer()));
  }

  #counted(name: string, original: Method): Method {
    const count = () => this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return function (...parameters) {
      count();
      return original.apply(this, parameters);
    };
  }

  #answered(original: Method): Method {
    const hold = (answer: Promise<unknown>) => this.#hold(answer);
    return function (...parameters) {
      return hold(original.apply(this, parameters) as Promise<unknown>);
    };
  }

  #hold(answer: Promise<unknown>): Promise<unknown> {
    if (!this.#counting) return answer;
    return new Promise((resolve, reject) => {
      this.#held.push(() => answer.then(resolve, reject));
    });
  }
}
