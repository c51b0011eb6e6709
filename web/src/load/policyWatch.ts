/** A worker that the page's content security policy forbids. */
export interface Violation {
  readonly directive: string;
  /** The address that is forbidden, or only its scheme: "blob", "data". */
  readonly blocked: string;
}

/** Watches whether the page's content security policy forbids a worker: the worker's own event does not say so. */
export class PolicyWatch {
  violation: Violation | undefined;
  readonly #listener = (event: Event) => this.#see(event as SecurityPolicyViolationEvent);

  constructor() {
    globalThis.addEventListener?.("securitypolicyviolation", this.#listener);
  }

  end(): void {
    globalThis.removeEventListener?.("securitypolicyviolation", this.#listener);
  }

  /** Browsers fall back to other directives, and name worker-src in any case. */
  #see({ effectiveDirective, blockedURI }: SecurityPolicyViolationEvent): void {
    if (effectiveDirective === "worker-src") this.violation ??= { directive: effectiveDirective, blocked: blockedURI };
  }
}
