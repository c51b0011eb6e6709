import { t } from "../../../texts/t.js";
import type { Lecture } from "../lecture.js";

/** What attention does inside of models that write. */
export const models: Lecture = {
  id: "models",
  title: t`Models that write`,
  minutes: 30,
  stops: [
    {
      title: t`The next word`,
      room: "generate",
      settings: {},
      figure: ".run-columns",
      words: t`A decoder gives every word of its table a chance to come next. One is drawn, put at the end, and all begins again.`,
      quiz: {
        question: t`What comes with temperature 0, and what with temperature 2?`,
        answer: t`With 0 always the word with the highest chance: the same text each time. With 2 the chances are more even: the text has more surprises, and more errors.`,
      },
    },
    {
      title: t`What a cache keeps`,
      room: "generate",
      settings: { dtype: "int8" },
      figure: ".card:has([data-field=dtype])",
      words: t`A new word asks all words before it. Their keys and values are kept, so that nothing is computed twice.`,
      quiz: {
        question: t`Why are no queries kept?`,
        answer: t`A query is used once, when its word is new. Later words ask with queries of their own, and the old word only answers.`,
      },
    },
    {
      title: t`An endless text`,
      room: "generate",
      settings: { ring: "sinks" },
      figure: ".card:has([data-field=dtype])",
      words: t`The memory is full. The oldest words must go, but the first ones are kept.`,
      quiz: {
        question: t`Why may a model become worse when its very first words are dropped?`,
        answer: t`Weights sum to 1, so a head with nothing to look for must look somewhere. Many heads learn to look at the first words then. Without them that weight falls on words that matter.`,
      },
    },
    {
      title: t`Heads that learn to copy`,
      room: "train",
      settings: {},
      figure: ".card:has(.tile-rows)",
      words: t`Two layers learn to repeat what they have read. A head of layer 1 begins to look at the word before. Then a head of layer 2 finds what followed last time.`,
      quiz: {
        question: t`Why can one layer alone not do this?`,
        answer: t`It must find the place whose word before is the current word. A place knows the word before only when a layer has written it there.`,
      },
    },
    {
      title: t`A head that is not missed`,
      room: "tensors",
      settings: {},
      figure: ".model-heads",
      words: t`A whole model, head by head. Each head that has a habit has its name.`,
      quiz: {
        question: t`One head is switched off, and nothing becomes worse. Does it do nothing?`,
        answer: t`Not for sure: another head may do the same. Switch off both, one after the other.`,
      },
    },
    {
      title: t`Weights are not the whole explanation`,
      room: "sentence",
      settings: { show: "weights" },
      figure: ".card",
      words: t`A large weight says that much of a value arrives. It does not say what that value is, nor what the other heads and layers make of it.`,
      quiz: {
        question: t`How can you find out whether a word is the reason for an output?`,
        answer: t`Change something and look again: hide the word, swap it for another one, or switch the head off. If the output stays, the weight was not the reason.`,
      },
    },
  ],
};
