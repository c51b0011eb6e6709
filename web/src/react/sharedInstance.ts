import { isCallable } from "../base/callable.js";
import { describe } from "../base/describe.js";
import { HeadwiseError, OptionError, type ErrorCode } from "../base/errors.js";
import type { Attention } from "../instance/attention.js";
import { checkInstance } from "../instance/givenInstance.js";

/** Makes an instance, as `createAttention` does. */
export type CreateInstance = () => Promise<Attention>;

/** How long an instance without users is kept, in milliseconds. The next page of an application may need it again. */
const KEPT_MILLISECONDS = 1000;

/** After an error with one of these codes an instance computes nothing more. */
const FINAL: readonly ErrorCode[] = ["DISPOSED", "INTERNAL"];

/**
 * An instance for many components. It is made when it is first needed, and disposed a second after its last user has
 * left. One that could not be made, or that has ended, is replaced when the next call needs it.
 */
export class SharedInstance {
  readonly #create: CreateInstance;
  #made: Promise<Attention> | undefined;
  #numUsers = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(create: CreateInstance) {
    this.#create = create;
  }

  /** Adds a user. The function that it returns removes this user; call it once. */
  use(): () => void {
    clearTimeout(this.#timer);
    ++this.#numUsers;
    return () => {
      --this.#numUsers;
      if (this.#numUsers === 0) this.#timer = setTimeout(() => this.#end(), KEPT_MILLISECONDS);
    };
  }

  /** Calls `work` with the instance, and settles as `work` does. It rejects if the instance cannot be made. */
  async run<T>(work: (instance: Attention) => Promise<T>): Promise<T> {
    const made = (this.#made ??= this.#checked());
    let instance: Attention | undefined;
    try {
      instance = await made;
      return await work(instance);
    } catch (error) {
      const isOver = !instance || (HeadwiseError.is(error) && FINAL.includes(error.code));
      if (isOver && this.#made === made) this.#end();
      throw error;
    }
  }

  async #checked(): Promise<Attention> {
    if (!isCallable(this.#create))
      throw new OptionError(`AttentionProvider: create must be a function, got ${describe(this.#create)}`);
    const instance = await this.#create();
    checkInstance("AttentionProvider", "what create gives", instance, ["dispose"]);
    return instance;
  }

  #end(): void {
    this.#made?.then(
      (instance) => instance.dispose(),
      () => undefined, // it could not be made: `run` has said so
    );
    this.#made = undefined;
  }
}
