import { t } from "../../texts/t.js";

/** What a worker could not do. A worker says it in English, and the page says it again in its own language. */
export type Trouble =
  /** A file of the lab that did not come: the status that the server answered, or the words of the browser. */
  | { readonly kind: "file"; readonly of: "decoder" | "example" | "model"; readonly name: string; readonly why: number | string } // oxfmt-ignore
  | { readonly kind: "noTokens" }
  | HubTrouble;

/** A model on the hub that did not come: the network, the page's policy, its name, or what the package says of it. */
export interface HubTrouble {
  readonly kind: "hub";
  readonly what: "network" | "policy" | "name" | "model";
  readonly host: string;
  readonly name: string;
  readonly why: string;
}

export class TroubleError extends Error {
  override readonly name = "TroubleError";

  constructor(readonly trouble: Trouble) {
    super(troubleWords(trouble));
  }
}

export function troubleWords(trouble: Trouble): string {
  if (trouble.kind === "noTokens") return t`there are no tokens: the text is empty, or the tokenizer knows none of it`;
  if (trouble.kind === "hub") return hubWords(trouble);
  const { of, name } = trouble;
  const why = typeof trouble.why === "number" ? t`the server answered ${trouble.why}` : trouble.why;
  switch (of) {
    case "decoder":
      return t`the decoder’s file ${name} could not be loaded: ${why}. “${"npm run train:demo"}” makes the decoders of this page`;
    case "example":
      return t`the example’s file ${name} could not be loaded: ${why}. “${"npm run train:demo -- --task repeat"}” makes it`;
    case "model":
      return t`the model’s file ${name} could not be loaded: ${why}`;
    default:
      return of satisfies never;
  }
}

function hubWords({ what, host, name, why }: HubTrouble): string {
  switch (what) {
    case "network":
      return t`${host} could not be reached. Look at the network, and try again: what has come is kept. Or download the files of ${name} elsewhere, and choose their folder`;
    case "policy":
      return t`${host} sends files of ${name} from another server, and the policy of this page (connect-src) does not allow that one. Download them from ${host}, and choose their folder here`;
    case "name":
      return t`${host} has no model “${name}” that everybody may read. Look at the spelling, OWNER/NAME, or choose a name from the list`;
    case "model":
      return t`${name} came from ${host}, and it is no model that this page can run (${why}). Choose a GPT-2 or another name from the list`;
    default:
      return what satisfies never;
  }
}
