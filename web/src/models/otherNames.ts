import { CALL, WITHOUT, type OtherName } from "../read/otherNames.js";

const OWN_CHOICE = "a token is chosen by temperature, topK and topP: leave it out";
const TEXTS = "It takes numbers of tokens. To end at a text, decode the tokens and leave the loop.";

/** Names for model.generate: those of transformers, and of servers of models. */
export const GENERATE_OTHERS: readonly OtherName[] = [
  ["max_tokens", "maxNewTokens"],
  ["max_length", "maxNewTokens", "The tokens of the prompt do not count."],
  ["eos_token_id", "stopTokens", "It is an array."],
  ["stop", "stopTokens", TEXTS],
  ["stop_strings", "stopTokens", TEXTS],
  ["do_sample", "temperature", "At 0, the default, the likeliest token is taken."],
  ["repetition_penalty", WITHOUT, OWN_CHOICE],
  ["frequency_penalty", WITHOUT, OWN_CHOICE],
  ["presence_penalty", WITHOUT, OWN_CHOICE],
  ["min_p", WITHOUT, OWN_CHOICE],
  ["typical_p", WITHOUT, OWN_CHOICE],
  ["num_beams", WITHOUT, OWN_CHOICE],
  ["stream", WITHOUT, "every token is given as soon as it is there: leave it out"],
  ["use_cache", WITHOUT, "earlier keys and values are always kept: leave it out"],
  ...CALL,
];
