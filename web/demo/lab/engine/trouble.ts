import { t } from "../../texts/t.js";

/** What a worker could not do. A worker says it in English, and the page says it again in its own language. */
export type Trouble =
  /** A file of the lab that did not come: the status that the server answered, or the words of the browser. */
  | { readonly kind: "file"; readonly of: "decoder" | "example" | "model"; readonly name: string; readonly why: number | string } // oxfmt-ignore
  | { readonly kind: "noTokens" };

export class TroubleError extends Error {
  override readonly name = "TroubleError";

  constructor(readonly trouble: Trouble) {
    super(troubleWords(trouble));
  }
}

export function troubleWords(trouble: Trouble): string {
  if (trouble.kind === "noTokens") return t`there are no tokens: the text is empty, or the tokenizer knows none of it`;
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
