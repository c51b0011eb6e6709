import { t } from "../../../texts/t.js";
import type { Lecture } from "../lecture.js";

/** The same as numbers: products, sizes, places, masks, tiles. */
export const matrices: Lecture = {
  id: "matrices",
  title: t`Attention in matrices`,
  minutes: 40,
  stops: [
    {
      title: t`Five matrices`,
      room: "matrix",
      settings: {},
      figure: ".card",
      words: t`X has a row for each word. Three products with weights give queries, keys and values. QKᵀ are the scores, softmax goes along their rows, and A·V is the output of a head.`,
      quiz: {
        question: t`Which sizes has the matrix of scores, and which size is not in it any more?`,
        answer: t`A row for each query and a column for each key. The number of features of a head is summed away.`,
      },
    },
    {
      title: t`A product is a mixture of rows`,
      room: "matrix",
      settings: { reading: "mixtures" },
      figure: ".card",
      words: t`A product can be read in two ways: each number is the similarity of two vectors, or each row is a mixture of rows.`,
      quiz: {
        question: t`Read A·V by rows. What is one row of it?`,
        answer: t`A mixture of the rows of V. The shares are one row of A, and they sum to 1.`,
      },
    },
    {
      title: t`Asking is not answering`,
      room: "matrix",
      settings: { sameKeys: "true" },
      figure: ".card",
      words: t`Here queries and keys are made by the same weights.`,
      quiz: {
        question: t`What is then true of every pair of words, and why is that too little for a language?`,
        answer: t`Both have the same score for each other. But “it” must find its noun, and the noun need not look for “it”. Two projections let the scores differ.`,
      },
    },
    {
      title: t`Why 1/√D`,
      room: "matrix",
      settings: { dim: "512" },
      figure: ".card:has([data-field=dim])",
      words: t`A score is a sum of D products. With random vectors its variance is D. The division by √D makes it 1 again.`,
      quiz: {
        question: t`What does softmax do to scores that are spread widely?`,
        answer: t`It gives nearly all weight to one key. The other words do not arrive, and the gradient is nearly 0.`,
      },
    },
    {
      title: t`One query for all`,
      room: "matrix",
      settings: { oneQuery: "true" },
      figure: ".card:has([data-field=oneQuery])",
      words: t`Rows of Q, K and V are made of one word each. Only A·V brings words together.`,
      quiz: {
        question: t`All words ask the same question. What does each of them get?`,
        answer: t`All get the same row: the same weights, and so the same mixture. Each word needs its own question.`,
      },
    },
    {
      title: t`Heads divide the features`,
      room: "matrix",
      settings: { numHeads: "3" },
      figure: ".card:has(.head-cuts)",
      words: t`Heads cut the features into bins, look by themselves, and are joined again. One more product mixes what they found.`,
      quiz: {
        question: t`The width of the model stays, and there are twice as many heads. How much more work is that?`,
        answer: t`About none in the products: each head is half as wide. But there are twice as many matrices of weights.`,
      },
    },
    {
      title: t`Only the distance`,
      room: "positions",
      settings: { kind: "rotary" },
      figure: ".card:has([data-field=offset])",
      words: t`Places can be learned rows, waves, or rotations. Rotations turn queries and keys before they meet.`,
      quiz: {
        question: t`The whole text moves 20 places on. Why do all weights stay with rotations, and not with rows that are added?`,
        answer: t`Both turn on by the same angle, so the angle between them stays. A row that is added is another one in another place.`,
      },
    },
    {
      title: t`Who may look at whom`,
      room: "masks",
      settings: { left: "48" },
      figure: ".card:has(attention-map)",
      words: t`A text that is being written must not look ahead: each word sees itself and what stands before.`,
      quiz: {
        question: t`There are 24 words. How many of the 24 · 24 pairs are left?`,
        answer: t`24 · 25 / 2 = 300. Nearly half of the work need not be done.`,
      },
    },
    {
      title: t`Tile by tile`,
      room: "flash",
      settings: {},
      figure: ".card:has(.tile-box)",
      words: t`Long texts have too many scores to keep them. The matrix is computed in tiles, and each row remembers little.`,
      quiz: {
        question: t`Softmax needs the sum of a whole row. What must a row remember, so that it never needs all scores at once?`,
        answer: t`The largest score so far, the sum so far, and the output so far. When a larger score comes, the other two are made smaller by the same factor.`,
      },
    },
  ],
};
