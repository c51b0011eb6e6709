import type { Attention } from "headwise";
import { flatten, random, type Random } from "headwise/train";

import { Aside } from "../aside.js";
import { Learner, type StepResult } from "../learner.js";
import { initialParameters, Model, type Parameters } from "../model.js";
import type { Task } from "../tasks.js";
import type { Checkpoint } from "./checkpoint.js";
import type { TrainOptions } from "./options.mjs";

/** The learning rate grows from 0 over these steps, and then falls to 0 by a cosine until the end. */
const WARM_UP = 100;

/** The same for what attention learns first. */
const FIRST_WARM_UP = 50;

/** The loss that is shown is a mean with this weight for the newest step. */
const NEWEST = 0.02;

/** A training from its first step, or from a checkpoint, to the end of its budget. */
export class Training {
  /** Of all sessions together, without what measuring and saving take. */
  seconds: number;
  /** A running mean. */
  loss: number | undefined;
  readonly #learner: Learner;

  private constructor(
    readonly task: Task,
    readonly model: Model,
    private readonly budget: TrainOptions["budget"],
    private readonly source: Random,
    private readonly checkpoint: Checkpoint,
    learner: Learner,
    seconds: number,
  ) {
    this.#learner = learner;
    this.seconds = seconds;
  }

  static async open(hw: Attention, task: Task, options: TrainOptions, checkpoint: Checkpoint): Promise<Training> {
    const standing = options.fresh ? undefined : checkpoint.read();
    const begun = performance.now();
    const source = random(standing?.random ?? options.seed);
    const parameters = standing?.parameters ?? (await firstParameters(hw, task, source));
    const seconds = standing?.seconds ?? (performance.now() - begun) / 1000;
    const model = await Model.create(hw, task.architecture, parameters);
    const { architecture, deviation } = task;
    const weights = task.aside && (standing?.aside ?? Aside.parameters(architecture, source, deviation));
    const aside = weights && new Aside(hw, task.aside, weights);
    const state = standing && { state: standing.optimizer };
    const learner = new Learner(model, { ...task.optimizer, ...state }, aside);
    return new Training(task, model, options.budget, source, checkpoint, learner, seconds);
  }

  get steps(): number {
    return this.#learner.steps;
  }

  get parameters(): Parameters {
    return this.model.parameters;
  }

  /** How many numbers the model has learned. */
  get size(): number {
    return Object.values(flatten(this.parameters)).reduce((sum, { data }) => sum + data.length, 0);
  }

  /** The part of the budget that is used; 1 at the end. */
  get progress(): number {
    const { budget } = this;
    return Math.min(1, "steps" in budget ? this.steps / budget.steps : this.seconds / (60 * budget.minutes));
  }

  async step(): Promise<StepResult> {
    const begun = performance.now();
    const rate =
      this.task.learningRate *
      Math.min(1, (this.steps + 1) / WARM_UP) *
      (0.5 + 0.5 * Math.cos(Math.PI * this.progress));
    const result = await this.#learner.learn(this.task.batch(this.source, this.steps), rate);
    this.loss = this.loss === undefined ? result.loss : this.loss + NEWEST * (result.loss - this.loss);
    this.seconds += (performance.now() - begun) / 1000;
    return result;
  }

  save(): void {
    const { aside, state } = this.#learner;
    this.checkpoint.write({
      parameters: this.parameters,
      ...(aside && { aside: aside.parameters }),
      optimizer: state,
      random: this.source.state,
      seconds: this.seconds,
    });
  }
}

/** The first weights; those of the attention have learned what a task wants them to learn alone. */
async function firstParameters(hw: Attention, task: Task, source: Random): Promise<Parameters> {
  const { architecture, deviation, first, learningRate, optimizer } = task;
  if (!first) return initialParameters(architecture, source, deviation);
  const alone = { ...architecture, feedForward: 0 };
  const model = await Model.create(hw, alone, initialParameters(alone, source, deviation));
  const learner = new Learner(model, optimizer);
  for (let step = 0; step < first.steps; step++)
    await learner.learn(first.batch(source, step), learningRate * Math.min(1, (step + 1) / FIRST_WARM_UP));
  model.dispose();
  return withFeedForward(model.parameters, initialParameters(architecture, source, deviation));
}

/** Attention with feed-forward blocks that add nothing yet. */
function withFeedForward(attention: Parameters, whole: Parameters): Parameters {
  const layers = attention.layers.map((layer, n) => {
    const feedForward = whole.layers[n]!.feedForward!;
    feedForward.down.weight.data.fill(0);
    return { ...layer, feedForward };
  });
  return { ...attention, layers };
}
