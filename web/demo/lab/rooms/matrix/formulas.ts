import join from "./formulas/join.tex";
import joinColumns from "./formulas/joinColumns.tex";
import mixture from "./formulas/mixture.tex";
import mixtureColumns from "./formulas/mixtureColumns.tex";
import plain from "./formulas/plain.tex";
import plainColumns from "./formulas/plainColumns.tex";
import projections from "./formulas/projections.tex";
import projectionsColumns from "./formulas/projectionsColumns.tex";
import scaled from "./formulas/scaled.tex";
import scaledColumns from "./formulas/scaledColumns.tex";
import scores from "./formulas/scores.tex";
import scoresColumns from "./formulas/scoresColumns.tex";
import softmax from "./formulas/softmax.tex";
import softmaxColumns from "./formulas/softmaxColumns.tex";
import unscaled from "./formulas/unscaled.tex";
import unscaledColumns from "./formulas/unscaledColumns.tex";
import { t } from "../../../texts/t.js";
import type { Scene } from "./parts.js";

/** What the formulas say in words, by what their TeX says. */
const WORDS: Readonly<Record<string, string>> = {
  scores: t`scores`,
  output: t`output`,
  "if hidden": t`if hidden`,
  "(softmax by rows)": t`(softmax by rows)`,
  "(softmax by columns)": t`(softmax by columns)`,
};

/** In every form a number's first index is its row. */
const FORMULAS = {
  rows: { projections, scores, scaled, unscaled, softmax, plain, mixture, join },
  columns: {
    projections: projectionsColumns,
    scores: scoresColumns,
    scaled: scaledColumns,
    unscaled: unscaledColumns,
    softmax: softmaxColumns,
    plain: plainColumns,
    mixture: mixtureColumns,
    join: joinColumns,
  },
} as const;

export function projectionFormulas({ form }: Scene): string[] {
  return [FORMULAS[form].projections];
}

/** What one head computes, as it is set. */
export function attentionFormulas({ form, inputs }: Scene): string[] {
  const all = FORMULAS[form];
  const scaling = inputs.scale ? all.scaled : all.unscaled;
  return [all.scores, scaling, inputs.softmax ? all.softmax : all.plain, all.mixture].map(inLanguage);
}

export function joinFormulas({ form }: Scene): string[] {
  return [FORMULAS[form].join].map(inLanguage);
}

/** The HTML of a formula with its words in the language of the page. */
function inLanguage(html: string): string {
  return html.replace(/>([^<>]+)</g, (whole, text: string) => {
    const words = text.trim();
    return whole.replace(words, WORDS[words.replace(/\s/g, " ")] ?? words);
  });
}
