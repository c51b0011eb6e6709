import { t } from "../../../texts/t.js";
import type { Lecture, Stop } from "../lecture.js";

/** A scene of the lesson. */
function scene(number: number, title: string, words: string, question: string, answer: string): Stop {
  const settings: Record<string, string> = number === 1 ? {} : { scene: String(number) };
  return { title, room: "lesson", settings, figure: ".scene-diagram", words, quiz: { question, answer } };
}

/** The idea, with one sentence. */
export const words: Lecture = {
  id: "words",
  title: t`What attention does to a word`,
  minutes: 20,
  stops: [
    scene(
      1,
      t`Words become vectors`,
      t`A model cannot read. A table gives it a vector for each word, the same wherever the word stands, and a second vector is added for the place.`,
      t`“park” stands twice in this sentence. In what do the two differ before attention?`,
      t`In the vector that was added for the place, and in nothing else.`,
    ),
    scene(
      2,
      t`A query meets keys`,
      t`A word asks with its query, and every word answers with its key. A score is the product of the two: their lengths, and the cosine of the angle between them.`,
      t`Which scores are high, which are 0, and which are below 0?`,
      t`High: the two point the same way. 0: they have a right angle. Below 0: they point away from each other.`,
    ),
    scene(
      3,
      t`Scores become weights`,
      t`Softmax makes weights of the scores of a query: all are above 0, and together they are 1.`,
      t`Every score of a query grows by 5. What becomes of the weights?`,
      t`Nothing: softmax knows only differences. That is why programs subtract the largest score first, so that no power is too large.`,
    ),
    scene(
      4,
      t`Values mix`,
      t`Each word has a third vector, its value. The output of a head is the sum of all values, each times its weight.`,
      t`Which of query, key and value decides how much arrives of a word, and which decides what arrives?`,
      t`Query and key decide how much. The value decides what.`,
    ),
    scene(
      5,
      t`The vector moves`,
      t`What was mixed is added to the word: its vector moves. The word is still there, with something from its neighbours.`,
      t`Both times the word is “park”. Why do the two move to different places?`,
      t`They began in different places of the sentence. So their queries and keys differ, and so do their weights: each takes something else from the others.`,
    ),
    scene(
      6,
      t`Heads look at different things`,
      t`Several heads do this side by side, each with queries, keys and values of its own. Their parts add up to the move of the word.`,
      t`Why are several small heads better than one large head?`,
      t`The weights of a head sum to 1, so what it gives to one word it takes from another. Several heads can look at several things at once.`,
    ),
    scene(
      7,
      t`Places tell equal words apart`,
      t`Here the same sentence is read without the vectors for places.`,
      t`The words come in another order, without places. What changes in the output?`,
      t`Only the order of its rows. Without places attention sees a bag of words, and two equal words get the same output.`,
    ),
    {
      title: t`Your own sentence`,
      room: "sentence",
      settings: {},
      figure: ".card:has(.habits)",
      words: t`A trained model reads sentences with eight heads. Write one of yours, and look for what each head does in it.`,
      quiz: {
        question: t`Which heads look at the word before, at the first word, or at the word itself, whatever you write?`,
        answer: t`The table of habits says it, with the share of the weight. A head whose habit stays in every sentence looks at places more than at words.`,
      },
    },
  ],
};
