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

  "Open this model in “Your model”": "Dieses Modell in „Dein Modell“ öffnen",
  Training: "Training",
  Train: "Trainieren",
  "One step": "Ein Schritt",
  "Start over": "Von vorn",
  "Every head, on a sequence that is never learned from": "Jeder Kopf, auf einer Folge, aus der nie gelernt wird",
  "How well they copy": "Wie gut sie kopieren",
  "Take it with you": "Zum Mitnehmen",
  "The weights of the two layers at the step that is shown, by name.":
    "Die Gewichte der zwei Schichten beim gezeigten Schritt, mit Namen.",
  "Save the weights": "Gewichte speichern",
  "Open this layer in “Your model”": "Diese Schicht in „Dein Modell“ öffnen",
  "Copy a link to these settings": "Link zu diesen Einstellungen kopieren",
  Pause: "Pause",
  "It takes a GPT-2, which has no rotary positions: train with learned ones.":
    "Dort wird ein GPT-2 geöffnet, und das hat keine rotierenden Positionen: Trainiere mit gelernten.",
  "step {0}": "Schritt {0}",
  "one layer": "eine Schicht",
  "two layers": "zwei Schichten",
  shown: "gezeigt",
  "The share of repeated tokens that is copied, step by step":
    "Der Anteil der wiederholten Token, der kopiert wird, Schritt für Schritt",
  "The loss in nats, step by step": "Der Verlust in Nats, Schritt für Schritt",
  "Repeated tokens that are copied, in sequences that are never learned from":
    "Wiederholte Token, die kopiert werden, in Folgen, aus denen nie gelernt wird",
  "Loss in nats, in the sequences of each step": "Verlust in Nats, in den Folgen jedes Schritts",
  "Weights of the head": "Gewichte des Kopfes",
  "Repeated tokens and what was expected": "Wiederholte Token und was erwartet wurde",
  "What the two layers expect": "Was die zwei Schichten erwarten",
  "The repeated tokens. Those that the model expected are filled, the others crossed out.":
    "Die wiederholten Token. Die das Modell erwartet hat, sind ausgefüllt, die anderen durchgestrichen.",
  "How a head is scored": "Wie ein Kopf bewertet wird",
  "The head": "Der Kopf",
  "Shares of the head’s attention, as means over the tokens that have such a key. With n tokens before the repetition, token i looks at i − 1 (the token before), at i − n + 1 (what followed it last time), at i − n (the same token).":
    "Anteile der Aufmerksamkeit des Kopfes, gemittelt über die Token, die einen solchen Schlüssel haben. Stehen n Token vor der Wiederholung, dann sieht Token i auf i − 1 (das Token davor), auf i − n + 1 (was ihm letztes Mal folgte), auf i − n (dasselbe Token).",
  "At step {0}: {1}.": "Bei Schritt {0}: {1}.",
  "“{0}” comes after “{1}”: hidden.": "„{0}“ kommt nach „{1}“: verdeckt.",
  "after “{0}” it expects “{1}”": "nach „{0}“ erwartet es „{1}“",
  "{0} steps": "{0} Schritte",
  "{0} is on": "{0} ist an",
  "no habit": "keine Gewohnheit",
  off: "aus",
  "Nothing yet. When a head takes up a habit, it stands here with its step.":
    "Noch nichts. Nimmt ein Kopf eine Gewohnheit an, dann steht sie hier, mit ihrem Schritt.",
  "What happened, and when": "Was geschah, und wann",
  rotary: "rotierend",
  "learned, added": "gelernt, addiert",
  none: "keine",
  Positions: "Positionen",
  Heads: "Köpfe",
  Width: "Breite",
  "First weights": "Erste Gewichte",
  "Learning rate": "Lernrate",
  Seed: "Seed",
  "One layer beside it": "Eine Schicht daneben",
  "The first weights and all sequences are random numbers. The same seed gives the same ones, and the same training.":
    "Die ersten Gewichte und alle Folgen sind Zufallszahlen. Derselbe Seed gibt dieselben, und dasselbe Training.",
  Checkpoint: "Checkpoint",
  Latest: "Neuester",
  Checkpoints: "Checkpoints",
  "One layer": "Eine Schicht",
  "Layer {0}": "Schicht {0}",
  "the control": "die Kontrolle",
  "Step {0}: {1} now looks at the token before.": "Schritt {0}: {1} sieht jetzt auf das Token davor.",
  "Step {0}: {1} now looks at what followed this token last time.":
    "Schritt {0}: {1} sieht jetzt auf das, was diesem Token letztes Mal folgte.",
  "Step {0}: {1} now looks at the same token, where it stood last time.":
    "Schritt {0}: {1} sieht jetzt auf dasselbe Token, da wo es letztes Mal stand.",
  "Step {0}: {1} does not look any more at the token before.": "Schritt {0}: {1} sieht nicht mehr auf das Token davor.",
  "Step {0}: {1} does not look any more at what followed this token last time.":
    "Schritt {0}: {1} sieht nicht mehr auf das, was diesem Token letztes Mal folgte.",
  "Step {0}: {1} does not look any more at the same token, where it stood last time.":
    "Schritt {0}: {1} sieht nicht mehr auf dasselbe Token, da wo es letztes Mal stand.",
  "the control’s {0}": "{0} der Kontrolle",
  "Step {0}: the two layers copy {1} of the repeated tokens.":
    "Schritt {0}: Die zwei Schichten kopieren {1} der wiederholten Token.",
  "Step {0}: you switched {1} on.": "Schritt {0}: Du hast {1} eingeschaltet.",
  "Step {0}: you switched {1} off.": "Schritt {0}: Du hast {1} ausgeschaltet.",
  "Nothing is trained yet: the weights are random numbers. Let them learn, and watch the heads form.":
    "Noch ist nichts trainiert: Die Gewichte sind Zufallszahlen. Lass sie lernen, und sieh zu, wie die Köpfe entstehen.",
  "{0} the two layers copy {1} of the repeated tokens.": "{0} kopieren die zwei Schichten {1} der wiederholten Token.",
  "{0} the two layers copy {1} of the repeated tokens, and one layer copies {2}.":
    "{0} kopieren die zwei Schichten {1} der wiederholten Token, und eine Schicht kopiert {2}.",
  "Without {0}: {1}": "Ohne {0}: {1}",
  "before the first step": "vor dem ersten Schritt",
  "after 1 step": "nach 1 Schritt",
  "after {0} steps": "nach {0} Schritten",
  "The control has one layer: its keys do not know what stood before them, so it cannot find the one that comes after its own.":
    "Die Kontrolle hat eine Schicht: Ihre Schlüssel wissen nicht, was vor ihnen stand. Deshalb findet sie das Token nicht, das nach ihrem eigenen kommt.",
  "The maps of random weights have no lines: every token looks at all tokens before it, about equally.":
    "Die Karten zufälliger Gewichte haben keine Linien: Jedes Token sieht auf alle Token vor ihm, ungefähr gleich viel.",
  "Its line lies above the middle diagonal of the lower half: a repeated token finds its first place, looks one further, and says what stands there.":
    "Seine Linie liegt über der mittleren Diagonale der unteren Hälfte: Ein wiederholtes Token findet seine erste Stelle, sieht eins weiter und sagt, was dort steht.",
  "Switch {0} off, and see what is left of the line.": "Schalte {0} aus, und sieh, was von der Linie bleibt.",
  "Switch a head of layer 1 off, and see what is left of the line.":
    "Schalte einen Kopf von Schicht 1 aus, und sieh, was von der Linie bleibt.",
  "Now a head of layer 2 can look for the token that came after its own. Look for a line in the lower half of its map.":
    "Jetzt kann ein Kopf von Schicht 2 das Token suchen, das nach seinem eigenen kam. Achte auf eine Linie in der unteren Hälfte seiner Karte.",
  "First look for a line beside the diagonal in layer 1: a head that looks at the token before. Later look for a line in the lower left half of a map of layer 2.":
    "Achte zuerst auf eine Linie neben der Diagonale in Schicht 1: ein Kopf, der auf das Token davor sieht. Achte später auf eine Linie in der linken unteren Hälfte einer Karte von Schicht 2.",
  "{0} is an induction head.": "{0} ist ein Induktionskopf.",
  "{0} are induction heads.": "{0} sind Induktionsköpfe.",
  "{0} tells every token what stands before it.": "{0} sagt jedem Token, was vor ihm steht.",
  "{0} tell every token what stands before it.": "{0} sagen jedem Token, was vor ihm steht.",
  "token before {0}, what followed {1}, same token {2}": "Token davor {0}, was folgte {1}, gleiches Token {2}",
  "token before": "Token davor",
  "what followed": "was folgte",
  "same token": "gleiches Token",
  "“{0}” gives {1} of its attention to “{2}”, the token before.":
    "„{0}“ gibt {1} seiner Aufmerksamkeit an „{2}“, das Token davor.",
  "“{0}” gives {1} of its attention to “{2}”, which followed this token last time.":
    "„{0}“ gibt {1} seiner Aufmerksamkeit an „{2}“, das diesem Token letztes Mal folgte.",
  "“{0}” gives {1} of its attention to “{2}”, the same token last time.":
    "„{0}“ gibt {1} seiner Aufmerksamkeit an „{2}“, dasselbe Token letztes Mal.",
  "“{0}” gives {1} of its attention to “{2}”, which is itself.":
    "„{0}“ gibt {1} seiner Aufmerksamkeit an „{2}“, also an sich selbst.",
  "“{0}” gives {1} of its attention to “{2}”.": "„{0}“ gibt {1} seiner Aufmerksamkeit an „{2}“.",
  "{0} ms a step": "{0} ms je Schritt",
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
};
