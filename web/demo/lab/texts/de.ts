import type { Texts } from "./texts.js";

/** Everything that the lab says, in German. `tests/lab/labTexts.test.ts` finds what is missing. */
export const GERMAN: Texts = {
  // ——— the shell: bar, engine, failures, controls

  // ——— end of the shell: bar, engine, failures, controls

  // ——— rooms.ts: the doors

  // ——— end of rooms.ts: the doors

  // ——— the tour

  // ——— end of the tour

  // ——— figures in other pages

  // ——— end of figures in other pages

  // ——— numbers

  // ——— end of numbers

  // ——— Lesson

  // ——— end of Lesson

  // ——— Sentence

  // ——— end of Sentence

  // ——— Matrix

  // ——— end of Matrix

  // ——— Positions

  // ——— end of Positions

  // ——— Masks

  // ——— end of Masks

  // ——— Flash

  // ——— end of Flash

  // ——— Train

  // ——— end of Train

  // ——— Generate

  // ——— end of Generate

  // ——— Your model

  // ——— end of Your model

  // ——— Your device

  // ——— end of Your device

  // ——— Bench

  // ——— end of Bench

  // ——— the engine's messages

  // ——— end of the engine's messages

  // ——— Share

  "Share this figure": "Diese Abbildung teilen",
  "The whole room": "Der ganze Raum",
  "Save as PNG": "Als PNG speichern",
  "Save as SVG": "Als SVG speichern",
  "Save {0} as a film (GIF)": "{0} als Film speichern (GIF)",
  "the training": "Das Training",
  "the lesson": "Die Lektion",
  "step {0}": "Schritt {0}",
  "Its address, with all settings": "Ihre Adresse, mit allen Einstellungen",
  "Copy the address": "Adresse kopieren",
  "What to draw": "Was gezeichnet wird",
  Close: "Schließen",
  "Copied.": "Kopiert.",
  "This browser does not let the page copy. The address is selected: copy it with the keyboard.":
    "Dieser Browser lässt die Seite nicht kopieren. Die Adresse ist ausgewählt: Kopiere sie mit der Tastatur.",
  "Drawing …": "Wird gezeichnet …",
  "Drawing: picture {0} of {1}": "Wird gezeichnet: Bild {0} von {1}",
  "Saved.": "Gespeichert.",
  "It could not be drawn: {0}": "Das Zeichnen gelang nicht: {0}",

  // ——— end of Share
};
