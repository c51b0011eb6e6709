import type { FileEntry } from "./files/safetensors.js";
import { t } from "../../../texts/t.js";

/** An input of the formula that a tensor can be. */
export interface Role {
  readonly id: string;
  readonly label: string;
  /** Names of tensors that suggest this role. */
  readonly guess: RegExp;
  readonly optional?: boolean;
}

export const ATTENTION_ROLES: readonly Role[] = [
  { id: "query", label: t`Query`, guess: /(^|[._])(q|query|queries)$/i },
  { id: "key", label: t`Key`, guess: /(^|[._])(k|key|keys)$/i },
  { id: "value", label: t`Value`, guess: /(^|[._])(v|value|values)$/i },
];

const weight = (letter: string, words: string) =>
  new RegExp(
    `(^|[._])(w_?${letter}|(to_)?${letter}(_?proj)?(_lin)?(\\.weight|_weight)|(${words})(\\.dense)?\\.weight)$`,
    "i",
  );
const bias = (letter: string, words: string) =>
  new RegExp(
    `(^|[._])(b_?${letter}|(to_)?${letter}(_?proj)?(_lin)?(\\.bias|_bias)|(${words})(\\.dense)?\\.bias)$`,
    "i",
  );

export const LAYER_ROLES: readonly Role[] = [
  { id: "x", label: t`Tokens X`, guess: /(^|[._])(x|input|tokens|hidden_states)$/i, optional: true },
  { id: "Wq", label: "Wq", guess: weight("q", "query") },
  { id: "Wk", label: "Wk", guess: weight("k", "key") },
  { id: "Wv", label: "Wv", guess: weight("v", "value") },
  { id: "Wo", label: "Wo", guess: weight("o", "output|out_proj"), optional: true },
  { id: "bq", label: "bq", guess: bias("q", "query"), optional: true },
  { id: "bk", label: "bk", guess: bias("k", "key"), optional: true },
  { id: "bv", label: "bv", guess: bias("v", "value"), optional: true },
  { id: "bo", label: "bo", guess: bias("o", "output|out_proj"), optional: true },
];

/** Decides which tensor has which role: the visitor's choice, or else the first tensor whose name suggests the role. */
export function assign(
  roles: readonly Role[],
  entries: readonly FileEntry[],
  chosen: ReadonlyMap<string, string>,
): Map<string, FileEntry> {
  const assigned = new Map<string, FileEntry>();
  for (const { id, guess } of roles) {
    const wanted = chosen.get(id);
    const entry = entries.find(({ name }) => (wanted === undefined ? guess.test(name) : name === wanted));
    if (entry) assigned.set(id, entry);
  }
  return assigned;
}
