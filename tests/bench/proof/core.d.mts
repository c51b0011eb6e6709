// The record of a proof, as schema.json describes it.

export interface ProofHost {
  readonly name: string;
  readonly system?: string;
  readonly cpu?: string;
  readonly cores?: number;
}

export interface ProofVariant {
  readonly tiling: string;
  readonly subgroups: boolean;
  readonly halves: boolean;
  readonly cases: number;
  readonly ran: number;
  readonly right: number;
  readonly refused: readonly { readonly case: string; readonly reason: string }[];
  readonly wrong: readonly { readonly case: string; readonly problems: readonly string[] }[];
  readonly stopped?: string;
  readonly failure?: string;
}

export interface ProofSpeed {
  readonly case: string;
  readonly group: "dense" | "causal" | "decode";
  readonly tiling: string;
  readonly failure?: string;
  readonly operations: number;
  readonly bytes: number;
  readonly half: boolean;
  /** These are absent if there is a failure. */
  readonly milliseconds: number;
  readonly samples: readonly number[];
  readonly gpuMilliseconds: number | null;
  readonly gflops: number;
  readonly gigabytesPerSecond: number;
  readonly shareOfMultiplyAdds: number;
  readonly shareOfBandwidth: number;
}

export interface ProofAdapter {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  readonly software: boolean;
}

export interface ProofRecord {
  readonly host: ProofHost;
  /** Why the host could not run; then all that follows is absent. */
  readonly notRun?: string;
  /** Version of the package. */
  readonly headwise: string;
  readonly adapter: ProofAdapter;
  readonly state: "complete" | "cancelled";
  readonly seconds: number;
  readonly table: readonly ProofVariant[];
  readonly speed: readonly ProofSpeed[];
  readonly auto: {
    readonly state: string;
    readonly reason?: string;
    readonly choices: readonly ProofChoice[];
  };
}

/** A shape, and what `hw.plan` says of it. */
export interface ProofChoice {
  readonly shape: {
    readonly numHeads: number;
    readonly queryLength: number;
    readonly keyLength: number;
    readonly headDim: number;
  };
  readonly plan: { readonly engine: string; readonly why?: string };
}

export interface ProofProgress {
  readonly what: string;
  readonly done: number;
  readonly total: number;
}

export interface ProofOptions {
  readonly gpu: GPU | undefined;
  readonly createAttention: object;
  readonly table: object;
  readonly host: ProofHost;
  readonly seconds: number;
  readonly quick?: boolean;
  readonly report?: (progress: ProofProgress) => void;
  readonly signal?: AbortSignal;
  readonly missingPeers?: Readonly<Record<string, string>>;
}

export function prove(options: ProofOptions): Promise<ProofRecord>;
