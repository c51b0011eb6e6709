/** A script that the page's content security policy forbids. */
export interface Violation {
  /** The directive that forbids it, as a policy names it. */
  readonly directive: string;
  /** What the directive must list to allow it. */
  readonly source: string;
}

/** Watches what the page's content security policy forbids: neither a worker's event nor the error of an import says so. */
export class PolicyWatch {
  readonly #seen: SecurityPolicyViolationEvent[] = [];
  readonly #listener = (event: Event) => void this.#seen.push(event as SecurityPolicyViolationEvent);

  constructor() {
    globalThis.addEventListener?.("securitypolicyviolation", this.#listener);
  }

  end(): void {
    globalThis.removeEventListener?.("securitypolicyviolation", this.#listener);
  }

  /** What forbids the script at this address. An event names an address, or only its scheme: "blob", "data". */
  violationBy(address: string): Violation | undefined {
    const { protocol } = new URL(address);
    const event = this.#seen.find(({ blockedURI }) => blockedURI === address || `${blockedURI}:` === protocol);
    return event && { directive: event.effectiveDirective.replace(/-elem$/, ""), source: sourceOf(address) };
  }
}

/** How a policy lists where this script comes from. */
export function sourceOf(address: string): string {
  const { protocol, origin } = new URL(address);
  if (protocol === "blob:" || protocol === "data:") return protocol;
  return origin === globalThis.origin ? "'self'" : origin;
}
