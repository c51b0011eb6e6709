import type { Report } from "headwise";

import { MAX_TOKENS, type Encoding } from "../model/encoder.js";
import { headName, headsOf, rowOf, type Head } from "../model/heads.js";
import { linkInWords, percent, strongestLinks } from "../model/links.js";
import { tokenNames } from "../model/names.js";
import { DEFAULT_SENTENCES, firstRepetition, largestRowDifference } from "../model/story.js";
import { byId, element } from "./element.js";
import { Engine } from "./engine.js";
import { headStrip } from "./headStrip.js";
import { similarityMatrix } from "./matrix.js";
import { zoomGrid, type Cell } from "./zoom.js";

/** Long enough to type the next letter, short enough to feel live. */
const TYPING_PAUSE_MS = 250;
const LINKS_SHOWN = 5;
/** From here on one head takes the whole width of the page. */
const LONG_SENTENCE_TOKENS = 24;

const sentences = byId<HTMLTextAreaElement>("sentences");
const positions = byId<HTMLInputElement>("positions");
const engine = new Engine({
  onProgress: showProgress,
  onReady: showReport,
  onEncoded: showEncodings,
  onFailure: showFailure,
});

let shown = { sentence: 0, head: 0, cell: { from: 0, to: 0 } };
let typing: ReturnType<typeof setTimeout> | undefined;

sentences.value = DEFAULT_SENTENCES.join("\n");
sentences.oninput = () => {
  clearTimeout(typing);
  typing = setTimeout(encode, TYPING_PAUSE_MS);
};
positions.onchange = encode;
byId<HTMLFormElement>("input").onsubmit = (event) => event.preventDefault();
encode();

function encode(): void {
  const texts = sentences.value.split("\n").filter((line) => line.trim() !== "");
  if (texts.length > 0) engine.encode(texts, positions.checked);
}

function showProgress(loaded: number, total: number): void {
  byId<HTMLProgressElement>("progress").value = loaded / total;
  byId("bytes").textContent = `${megabytes(loaded)} of ${megabytes(total)} MB`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

function showFailure(message: string): void {
  byId("loading").hidden = true;
  const failure = byId("failure");
  failure.hidden = false;
  failure.textContent = `This did not work: ${message}`;
}

function showReport({ version, backend, variant, threads, reasons }: Report): void {
  const report = byId("report");
  report.hidden = false;
  report.querySelector("summary")!.textContent =
    `${backend} · ${variant} · ${threads} ${threads === 1 ? "thread" : "threads"}`;
  report
    .querySelector("ul")!
    .replaceChildren(
      element("li", {}, `headwise ${version}`),
      ...Object.entries(reasons).map(([what, why]) => element("li", {}, `${what}: ${why}`)),
    );
}

function showEncodings(encodings: readonly Encoding[], milliseconds: number): void {
  byId("loading").hidden = true;
  byId("failure").hidden = true;
  byId("result").hidden = false;
  shown.sentence = Math.min(shown.sentence, encodings.length - 1);
  showChooser(encodings, milliseconds);
  showSentence(encodings[shown.sentence]!, milliseconds);
  byId("similarity").hidden = encodings.length < 2;
  byId("matrix").replaceChildren(similarityMatrix(encodings));
}

function showChooser(encodings: readonly Encoding[], milliseconds: number): void {
  const chooser = byId("chooser");
  chooser.hidden = encodings.length < 2;
  const buttons = encodings.map((encoding, i) => {
    const button = element("button", { type: "button", "aria-pressed": String(i === shown.sentence) }, encoding.text);
    button.onclick = () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      shown = { ...shown, sentence: i, cell: { from: 0, to: 0 } };
      showSentence(encoding, milliseconds);
    };
    return button;
  });
  chooser.replaceChildren(...buttons);
}

function showSentence(encoding: Encoding, milliseconds: number): void {
  const { tokens, tokensLeftOut } = encoding;
  const beyond = tokensLeftOut > 0 ? ` The model reads ${MAX_TOKENS}; the last ${tokensLeftOut} are left out.` : "";
  byId("summary").textContent = `${tokens.length} tokens.${beyond} Everything took ${milliseconds.toFixed(0)} ms.`;

  const heads = headsOf(encoding);
  const names = tokenNames(tokens);
  byId("views").classList.toggle("long", tokens.length >= LONG_SENTENCE_TOKENS);
  byId("heads").replaceChildren(
    headStrip(heads, shown.head, (index) => {
      shown.head = index;
      showHead(heads[index]!, names);
    }),
  );
  showHead(heads[shown.head]!, names);
  byId("twins").textContent = twins(encoding, names);
}

/** What its place is worth to a token that stands twice. */
function twins(encoding: Encoding, names: readonly string[]): string {
  const repetition = firstRepetition(encoding);
  if (!repetition) return "";
  const [first, second] = repetition;
  const difference = largestRowDifference(encoding, first, second);
  const rows = `${names[first]} and ${names[second]} are the same token. Over all heads, their rows`;
  return difference === 0
    ? `${rows} are equal: nothing tells the model which is which.`
    : `${rows} differ by up to ${percent(difference)}, because the model knows where each stands.`;
}

function showHead(head: Head, names: readonly string[]): void {
  byId("zoom-title").textContent = sentenceCase(headName(head));
  byId("strongest").textContent = percent(head.probs.reduce((most, prob) => Math.max(most, prob), 0));
  const last = names.length - 1;
  const start = { from: Math.min(shown.cell.from, last), to: Math.min(shown.cell.to, last) };
  byId("zoom").replaceChildren(
    zoomGrid(head, names, start, (cell) => {
      shown.cell = cell;
      byId("reading").textContent = reading(head, names, cell);
    }),
  );
  const links = strongestLinks(head.probs, LINKS_SHOWN);
  byId("links").replaceChildren(...links.map((link) => element("li", {}, linkInWords(link, names))));
}

/** A cell in words, with its mirror image: attention is not symmetric. */
function reading({ probs, scores }: Head, names: readonly string[], { from, to }: Cell): string {
  const share = (i: number, j: number) => percent(rowOf(probs, i)[j]!);
  const score = (i: number, j: number) => rowOf(scores, i)[j]!.toFixed(2);
  if (from === to)
    return `${names[from]} gives ${share(from, to)} of its attention to itself (score ${score(from, to)}).`;
  return (
    `${names[from]} gives ${share(from, to)} of its attention to ${names[to]} (score ${score(from, to)}). ` +
    `The other way, ${names[to]} gives ${share(to, from)} (score ${score(to, from)}).`
  );
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
