import type { Texts } from "./texts.js";

/** Everything that the lab says, in German. `tests/lab/labTexts.test.ts` finds what is missing. */
export const GERMAN: Texts = {
  // ——— the shell: bar, engine, failures, controls

  "Skip to the room": "Zum Raum springen",
  Rooms: "Räume",
  "Take the tour": "Zur Tour",
  Tour: "Tour",
  Language: "Sprache",
  starting: "startet",
  "See, question and teach attention. Everything is computed here, by headwise.":
    "Aufmerksamkeit sehen, befragen und trainieren. Alles wird hier berechnet, von headwise.",
  "Theme: {0}": "Farben: {0}",
  auto: "automatisch",
  light: "hell",
  dark: "dunkel",
  Engine: "Engine",
  Backend: "Backend",
  Automatic: "Automatisch",
  Threads: "Threads",
  automatic: "automatisch",
  "This page is cross-origin isolated.": "Diese Seite ist isoliert (cross-origin isolated).",
  "This page is not cross-origin isolated: one thread.":
    "Diese Seite ist nicht isoliert (cross-origin isolated): nur ein Thread.",
  "no engine": "keine Engine",
  Computing: "Es wird gerechnet",
  "Loading the model": "Das Modell wird geladen",
  "{0} of {1} {2}": "{0} von {1} {2}",
  "Try again": "Noch einmal versuchen",
  "This did not work: {0}": "Das hat nicht geklappt: {0}",
  "the code of this room could not be loaded ({0})": "der Code dieses Raums konnte nicht geladen werden ({0})",
  "There is no room “{0}”. This is the first one: {1}.": "Einen Raum „{0}“ gibt es nicht. Dies ist der erste: {1}.",
  "Files belong in the room {0}.": "Dateien gehören in den Raum {0}.",
  Reset: "Zurücksetzen",
  "Copy code": "Code kopieren",
  "Copied. It runs in Node and in a page, with headwise installed.":
    "Kopiert. Der Code läuft in Node und in einer Seite, wenn headwise installiert ist.",
  "This browser does not let the page copy; the code stands below.":
    "Dieser Browser lässt die Seite nicht kopieren; der Code steht unten.",
  Code: "Code",
  "Computing in double precision …": "Es wird mit doppelter Genauigkeit gerechnet …",
  "Compare with double precision": "Mit doppelter Genauigkeit vergleichen",
  "Against the definition in double precision, {0}.": "Verglichen mit der Definition in doppelter Genauigkeit: {0}.",
  "all equal": "alle gleich",
  "at most {0} apart": "höchstens {0} auseinander",
  "Too long for the address: {0}. A link to this page leaves it out.":
    "Zu lang für die Adresse: {0}. Einem Link auf diese Seite fehlt das.",
  "Computed in {0} · {1}": "Berechnet in {0} · {1}",
  "Beside this room": "Neben diesem Raum",
  Next: "Weiter",
  Formula: "Formel",
  "{0}, row {1}, column {2}": "{0}, Zeile {1}, Spalte {2}",
  "head {0}": "Kopf {0}",
  "layer {0} head {1}": "Schicht {0} Kopf {1}",
  "“{0}”": "„{0}“",
  "{0} and {1} more": "{0} und {1} weitere",
  " The model was trained on English. It does not know {0}.":
    " Das Modell hat nur Englisch gelernt. {0} kennt es nicht.",
  " The model was trained on English. It does not know {0}: it reads them all as the same unknown token.":
    " Das Modell hat nur Englisch gelernt. Es kennt nicht: {0}. Es liest sie alle als dasselbe unbekannte Token.",

  // ——— end of the shell: bar, engine, failures, controls

  // ——— rooms.ts: the doors

  Lesson: "Lektion",
  "Seven scenes, three minutes, with a sentence of yours. Scroll, or press → and ←.":
    "Sieben Szenen, drei Minuten, mit einem Satz von dir. Scrolle, oder drücke → und ←.",
  Sentence: "Satz",
  "A pretrained transformer reads your sentence, and shows what each word looks at.":
    "Ein fertig trainierter Transformer liest deinen Satz und zeigt, worauf jedes Wort schaut.",
  Matrix: "Matrix",
  "Attention on numbers that you can follow. Change one, and see what it changes on its way to the output.":
    "Aufmerksamkeit mit Zahlen, denen du folgen kannst. Ändere eine und sieh, was sie auf dem Weg zur Ausgabe verändert.",
  Positions: "Positionen",
  "The same word twice: without positions attention cannot tell one from the other. Choose how a model learns where words stand.":
    "Zweimal dasselbe Wort: Ohne Positionen kann die Aufmerksamkeit sie nicht unterscheiden. Wähle, wie ein Modell erfährt, wo die Wörter stehen.",
  Masks: "Masken",
  "Build the attention of GPT, Mistral, BLOOM or Gemma from its rules, or write rules of your own, and see which pairs are left and what need not be computed.":
    "Baue die Aufmerksamkeit von GPT, Mistral, BLOOM oder Gemma aus ihren Regeln, oder schreibe eigene. Sieh, welche Paare übrig bleiben und was niemand berechnen muss.",
  Flash: "Flash",
  "How attention over long sequences fits in a few kilobytes: tile by tile, with a running maximum and a running sum.":
    "Wie Aufmerksamkeit über lange Folgen in ein paar Kilobyte passt: Kachel für Kachel, mit laufendem Maximum und laufender Summe.",
  Train: "Trainieren",
  "Two attention layers learn to repeat what they have read. Watch their heads form, switch one off, and go back to the step where it happened.":
    "Zwei Schichten Aufmerksamkeit lernen zu wiederholen, was sie gelesen haben. Sieh zu, wie ihre Köpfe entstehen, schalte einen aus, und geh zurück zu dem Schritt, in dem es geschah.",
  Generate: "Erzeugen",
  "A small decoder continues what you type. See what it expects next, what every head looks at, and what its cache of keys and values keeps.":
    "Ein kleiner Decoder schreibt weiter, was du tippst. Sieh, was er als Nächstes erwartet, worauf jeder Kopf schaut, und was sein Cache an Schlüsseln und Werten behält.",
  "Your model": "Dein Modell",
  "Drop a whole model, the weights of a layer, or queries, keys and values, and see what its heads do. Nothing leaves this page.":
    "Leg ein ganzes Modell hier ab, die Gewichte einer Schicht oder Anfragen, Schlüssel und Werte, und sieh, was die Köpfe tun. Nichts verlässt diese Seite.",
  "Your device": "Dein Gerät",
  "How fast attention is on this machine, in this browser: every engine, checked before it is timed.":
    "Wie schnell Aufmerksamkeit auf diesem Rechner ist, in diesem Browser: jede Engine, erst geprüft, dann gemessen.",
  Bench: "Messungen",
  "Times that others have measured, side by side: every shape, engine and device of the files that you drop.":
    "Zeiten, die andere gemessen haben, nebeneinander: jede Form, jede Engine und jedes Gerät aus den Dateien, die du ablegst.",

  // ——— end of rooms.ts: the doors

  // ——— the tour

  "Your prediction": "Deine Vorhersage",
  "Leave the tour": "Tour verlassen",
  "Tour, step {0} of {1}": "Tour, Schritt {0} von {1}",
  "Back to this step": "Zurück zu diesem Schritt",
  "headwise computes it …": "headwise berechnet es …",
  "You were right. ": "Du hattest recht. ",
  "You said “{0}”. ": "Du hast gesagt: „{0}“. ",
  "Next step": "Nächster Schritt",
  "End the tour": "Tour beenden",
  "In “the park by the park” a word stands twice. With positions its two rows differ. Without positions, how much do they differ?":
    "In „the park by the park“ steht ein Wort zweimal. Mit Positionen sind seine zwei Zeilen verschieden. Wie verschieden sind sie ohne Positionen?",
  "As much as with positions": "So sehr wie mit Positionen",
  Less: "Weniger",
  "Not at all": "Gar nicht",
  "With positions the two rows differ by up to {0}; without them by 0, in every bit. Equal words have equal queries and keys, so nothing is left that could tell them apart.":
    "Mit Positionen unterscheiden sich die zwei Zeilen um bis zu {0}, ohne sie um 0, in jedem Bit. Gleiche Wörter haben gleiche Anfragen und Schlüssel. Also bleibt nichts, was sie unterscheiden könnte.",
  "With positions the two rows differ by up to {0}, without them by {1}.":
    "Mit Positionen unterscheiden sich die zwei Zeilen um bis zu {0}, ohne sie um {1}.",
  "Rotary positions turn every query and key by an angle that grows with its place. Move the whole text {0} places on: what do the weights do?":
    "Rotierende Positionen drehen jede Anfrage und jeden Schlüssel um einen Winkel, der mit der Stelle wächst. Rücke den ganzen Text um {0} Stellen weiter: Was machen die Gewichte?",
  "They change with the place": "Sie ändern sich mit der Stelle",
  "They stay: only distances count": "Sie bleiben: Nur Abstände zählen",
  "Where sinusoids are added, the same move changes weights by up to {0}.":
    "Wo Sinuskurven addiert werden, ändert dieselbe Verschiebung Gewichte um bis zu {0}.",
  "No weight changes but for rounding ({0}). All queries and keys turn on by the same angle, and a score depends on the angle between two of them: on the distance of the words. {1}":
    "Kein Gewicht ändert sich, außer durch Rundung ({0}). Alle Anfragen und Schlüssel drehen sich um denselben Winkel weiter, und ein Score hängt vom Winkel zwischen zweien ab: vom Abstand der Wörter. {1}",
  "Weights change by up to {0}. {1}": "Gewichte ändern sich um bis zu {0}. {1}",
  "A random query meets 64 random keys of D = {0} features. Without the division by √D: what share of the attention does the favourite key get?":
    "Eine zufällige Anfrage trifft 64 zufällige Schlüssel mit D = {0} Merkmalen. Ohne die Division durch √D: Welchen Anteil der Aufmerksamkeit bekommt der Favorit unter den Schlüsseln?",
  "About {0} %": "Etwa {0} %",
  "The favourite of 64 keys gets {0} on average: such a softmax hardly mixes, it picks. The scores have a variance of {1}, about D. Divided by √D, the favourite gets {2}.":
    "Der Favorit unter 64 Schlüsseln bekommt im Mittel {0}: Eine solche Softmax mischt kaum, sie wählt aus. Die Scores haben eine Varianz von {1}, etwa D. Durch √D geteilt, bekommt der Favorit {2}.",
  "{0} tokens make {1} pairs. A causal mask hides from every token what comes after it: how many pairs are left?":
    "{0} Token ergeben {1} Paare. Eine kausale Maske verbirgt vor jedem Token, was nach ihm kommt: Wie viele Paare bleiben?",
  "{0} of {1} pairs have a weight, {2} %. That is a bit more than half: of the {3} pairs on the diagonal none is lost, because every token sees itself.":
    "{0} von {1} Paaren haben ein Gewicht, {2} %. Das ist etwas mehr als die Hälfte: Von den {3} Paaren auf der Diagonale geht keines verloren, denn jedes Token sieht sich selbst.",
  "Here {0} tokens are computed in {1} tiles of {2} × {3}. With a causal mask: how many tiles are never touched?":
    "Hier werden {0} Token in {1} Kacheln von {2} × {3} berechnet. Mit kausaler Maske: Wie viele Kacheln werden nie angefasst?",
  "{0} of {1} tiles have no visible pair and are skipped as a whole. The other {2} are computed: {3} of them lie on the diagonal, so less than half is saved.":
    "{0} von {1} Kacheln haben kein sichtbares Paar und werden ganz übersprungen. Die anderen {2} werden berechnet: {3} davon liegen auf der Diagonale, also wird weniger als die Hälfte gespart.",
  "This model has eight heads, four in each layer. Switch off the second head of the second layer: does the meaning of “{0}” change?":
    "Dieses Modell hat acht Köpfe, vier in jeder Schicht. Schalte den zweiten Kopf der zweiten Schicht aus: Ändert sich die Bedeutung von „{0}“?",
  Hardly: "Kaum",
  "Clearly, but it is the same sentence": "Deutlich, aber es ist derselbe Satz",
  "As if it were another sentence": "Als wäre es ein anderer Satz",
  "Of the eight heads it is the one that is missed most: without one of the others the cosine is {0}.":
    "Von den acht Köpfen fehlt er am meisten: Ohne einen der anderen ist der Kosinus {0}.",
  "Without one of the other heads the cosine is {0}.": "Ohne einen der anderen Köpfe ist der Kosinus {0}.",
  "Without this head the embedding has a cosine of {0} with the whole model’s; 1 would be no change. A sentence about a phone has {1}.":
    "Ohne diesen Kopf hat die Einbettung einen Kosinus von {0} mit der des ganzen Modells; 1 hieße: keine Änderung. Ein Satz über ein Telefon hat {1}.",
  "{0} {1} The other heads say nearly the same.": "{0} {1} Die anderen Köpfe sagen fast dasselbe.",
  "{0} {1} The head mattered, and the other seven keep most of the meaning.":
    "{0} {1} Der Kopf war wichtig, und die anderen sieben behalten das meiste der Bedeutung.",
  "{0} {1} The model reads another sentence.": "{0} {1} Das Modell liest einen anderen Satz.",
  "Tokens in a random order are read twice. In the second half every token could be predicted: it followed the same token before. How many layers of attention does that need?":
    "Token in zufälliger Reihenfolge werden zweimal gelesen. In der zweiten Hälfte ließe sich jedes Token vorhersagen: Es folgte schon einmal auf dasselbe Token. Wie viele Schichten Aufmerksamkeit braucht das?",
  "One is enough": "Eine genügt",
  "Two are enough, one is not": "Zwei genügen, eine nicht",
  "Two are not enough": "Zwei genügen nicht",
  "A head finds a key by what the key holds. In the first layer it holds only its own token. In the second layer it also holds the token before, and a query can ask for that.":
    "Ein Kopf findet einen Schlüssel über das, was der Schlüssel enthält. In der ersten Schicht ist das nur sein eigenes Token. In der zweiten Schicht enthält er auch das Token davor, und danach kann eine Anfrage fragen.",
  "With heads made by hand, two layers predict {0} of {1} repeated tokens, and one layer {2}. {3} Let the models beside learn, and see whether they find the same.":
    "Mit Köpfen von Hand sagen zwei Schichten {0} von {1} wiederholten Token vorher, eine Schicht {2}. {3} Lass die Modelle daneben lernen und sieh, ob sie dasselbe finden.",

  // ——— end of the tour

  // ——— figures in other pages

  "Embed this figure": "Abbildung einbetten",
  "The whole room": "Der ganze Raum",
  "Both forms have the settings that the room has now.":
    "Beide Formen haben die Einstellungen, die der Raum jetzt hat.",
  "What to show ": "Was gezeigt wird ",
  "A script and an element; its height follows its content": "Ein Skript und ein Element; die Höhe folgt dem Inhalt",
  "A frame; it needs no script, and its height is fixed":
    "Ein Rahmen; er braucht kein Skript, und seine Höhe steht fest",
  " This lab ({0}) runs on your machine: only you see its figures, and only while it runs. “npm run build:demo” makes a lab for a web server.":
    " Dieses Labor ({0}) läuft auf deinem Rechner: Nur du siehst seine Abbildungen, und nur, solange es läuft. „npm run build:demo“ macht ein Labor für einen Webserver.",
  Close: "Schließen",
  Copy: "Kopieren",
  "Copy: {0}": "Kopieren: {0}",
  "Copied.": "Kopiert.",
  "This browser does not let the page copy. The text is selected: copy it with the keyboard.":
    "Dieser Browser lässt die Seite nicht kopieren. Der Text ist markiert: Kopiere ihn mit der Tastatur.",
  "Open in the headwise lab": "Im headwise-Labor öffnen",

  // ——— end of figures in other pages

  // ——— numbers

  "less than 1 %": "weniger als 1 %",
  "more than 99 %": "mehr als 99 %",
  "{0} and {1}": "{0} und {1}",
  "{0} to {1}": "{0} bis {1}",
  "{0} percentage points": "{0} Prozentpunkte",
  "{0} is": "{0} wird",
  "{0} are": "{0} werden",
  "{0} byte": "{0} Byte",
  "{0} bytes": "{0} Byte",
  "{0} character": "{0} Zeichen",
  "{0} characters": "{0} Zeichen",
  "{0} core": "{0} Kern",
  "{0} cores": "{0} Kerne",
  "{0} device": "{0} Gerät",
  "{0} devices": "{0} Geräte",
  "{0} engine": "{0} Engine",
  "{0} engines": "{0} Engines",
  "{0} figure": "{0} Messwert",
  "{0} figures": "{0} Messwerte",
  "{0} file": "{0} Datei",
  "{0} files": "{0} Dateien",
  "{0} head": "{0} Kopf",
  "{0} heads": "{0} Köpfe",
  "{0} key": "{0} Schlüssel",
  "{0} keys": "{0} Schlüssel",
  "{0} key is": "{0} Schlüssel ist",
  "{0} keys are": "{0} Schlüssel sind",
  "{0} layer": "{0} Schicht",
  "{0} layers": "{0} Schichten",
  "{0} measurement": "{0} Messung",
  "{0} measurements": "{0} Messungen",
  "{0} minute": "{0} Minute",
  "{0} minutes": "{0} Minuten",
  "{0} number": "{0} Zahl",
  "{0} numbers": "{0} Zahlen",
  "{0} other character": "{0} weiteres Zeichen",
  "{0} other characters": "{0} weitere Zeichen",
  "{0} other word": "{0} weiteres Wort",
  "{0} other words": "{0} weitere Wörter",
  "{0} pair": "{0} Paar",
  "{0} pairs": "{0} Paare",
  "{0} place": "{0} Stelle",
  "{0} places": "{0} Stellen",
  "{0} query": "{0} Anfrage",
  "{0} queries": "{0} Anfragen",
  "{0} query head": "{0} Anfragekopf",
  "{0} query heads": "{0} Anfrageköpfe",
  "{0} row": "{0} Zeile",
  "{0} rows": "{0} Zeilen",
  "{0} sentence": "{0} Satz",
  "{0} sentences": "{0} Sätze",
  "{0} shape": "{0} Form",
  "{0} shapes": "{0} Formen",
  "{0} step": "{0} Schritt",
  "{0} steps": "{0} Schritte",
  "{0} story": "{0} Geschichte",
  "{0} stories": "{0} Geschichten",
  "{0} tensor": "{0} Tensor",
  "{0} tensors": "{0} Tensoren",
  "{0} thread": "{0} Thread",
  "{0} threads": "{0} Threads",
  "{0} tile": "{0} Kachel",
  "{0} tiles": "{0} Kacheln",
  "{0} tile is": "{0} Kachel wird",
  "{0} tiles are": "{0} Kacheln werden",
  "{0} time": "{0} Mal",
  "{0} times": "{0} Mal",
  "{0} token": "{0} Token",
  "{0} tokens": "{0} Token",
  "{0} word": "{0} Wort",
  "{0} words": "{0} Wörter",

  // ——— end of numbers

  // ——— Lesson

  "What does attention do to a word?": "Was macht Aufmerksamkeit mit einem Wort?",
  "Write a sentence": "Schreib einen Satz",
  "Your sentence": "Dein Satz",
  Word: "Wort",
  Head: "Kopf",
  " A word that the model does not know is read in pieces.":
    " Ein Wort, das das Modell nicht kennt, liest es in Stücken.",
  " The lesson shows the first {0}; the room Sentence reads more.":
    " Die Lektion zeigt die ersten {0}; der Raum Satz liest mehr.",
  "{0}. There is nothing to read yet.": "{0}. Noch gibt es nichts zu lesen.",
  "The diagram": "Das Diagramm",
  "Scene {0}": "Szene {0}",
  "Previous scene": "Vorige Szene",
  "Next →": "Weiter\u00a0→",
  "Open {0} in the room {1}": "Im Raum {1} öffnen: {0}",
  "Your answer": "Deine Antwort",
  "Right. ": "Richtig. ",
  "Not so. ": "So nicht. ",
  "That is attention. Write a sentence of your own above, or go on with the tour: it asks what you expect, and headwise computes what is true.":
    "Das ist Aufmerksamkeit. Schreib oben einen eigenen Satz, oder geh weiter mit der Tour: Sie fragt, was du erwartest, und headwise berechnet, was stimmt.",
  "probabilities of all heads": "Wahrscheinlichkeiten aller Köpfe",
  "shares of the heads": "Anteile der Köpfe",
  word: "Wort",
  vector: "Vektor",
  key: "Schlüssel",
  score: "Score",
  weight: "Gewicht",
  value: "Wert",
  query: "Anfrage",
  "From words to the mix of “{0}”": "Von den Wörtern zur Mischung für „{0}“",
  "query of “{0}”": "Anfrage von „{0}“",
  "mix for “{0}”: the sum of weight × value": "Mischung für „{0}“: Summe aus Gewicht × Wert",
  "{0}: {1}, score {2}": "{0}: {1}, Score {2}",
  "The query and the keys at their angles": "Die Anfrage und die Schlüssel in ihren Winkeln",
  "Words become vectors": "Wörter werden Vektoren",
  "The model cannot read. It looks each word up in a table and gets 256 numbers: a vector. It adds a second vector that says where the word stands.{0}":
    "Das Modell kann nicht lesen. Es schlägt jedes Wort in einer Tabelle nach und bekommt 256 Zahlen: einen Vektor. Dazu addiert es einen zweiten Vektor, der sagt, wo das Wort steht.{0}",
  " {0} and {1} are the same word: only their places differ.":
    " {0} und {1} sind dasselbe Wort: Nur ihre Stellen sind verschieden.",
  "Follow one word: {0}. What will the other words do to it?":
    "Folge einem Wort: {0}. Was werden die anderen Wörter mit ihm machen?",
  "this sentence": "dieser Satz",
  "The vector of “{0}”": "Der Vektor von „{0}“",
  "Word and place": "Wort und Stelle",
  "the word": "das Wort",
  "+ its place": "+ seine Stelle",
  "= vector": "= Vektor",
  'The first {0} of its 256 numbers. The diagram shows the first {1} as colours: <span class="more">above 0</span>, <span class="less">below 0</span>.':
    'Die ersten {0} seiner 256 Zahlen. Das Diagramm zeigt die ersten {1} als Farben: <span class="more">über 0</span>, <span class="less">unter 0</span>.',
  "A query meets keys": "Eine Anfrage trifft Schlüssel",
  "From its vector, {0} makes a query: what it looks for. Each word makes a key: what it offers. Their product is a score. It is high if both point the same way.":
    "Aus seinem Vektor macht {0} eine Anfrage: was es sucht. Jedes Wort macht einen Schlüssel: was es bietet. Ihr Produkt ist ein Score. Er ist hoch, wenn beide in dieselbe Richtung zeigen.",
  "The highest score is {0}: the key of {1}, at {2}° to the query. The lowest is {3}: the key of {4}, at {5}°{6}.":
    "Der höchste Score ist {0}: der Schlüssel von {1}, im Winkel von {2}° zur Anfrage. Der niedrigste ist {3}: der Schlüssel von {4}, mit {5}°{6}.",
  ", more than a right angle": ", mehr als ein rechter Winkel",
  "the scores of {0}": "die Scores von {0}",
  "{0} gives {1} a score of {2}. Does {3} give {4} the same?":
    "{0} gibt {1} einen Score von {2}. Gibt {3} auch {4} diesen Score?",
  "Yes, the same": "Ja, denselben",
  "No, another one": "Nein, einen anderen",
  "{0} gives {1} {2}, and {3} gives {4} {5}. {6}": "Von {0} für {1}: {2}. Von {3} für {4}: {5}. {6}",
  "Here they are equal.": "Hier sind sie gleich.",
  "Asking is not answering: queries and keys come from different matrices.":
    "Fragen ist nicht Antworten: Anfragen und Schlüssel kommen aus verschiedenen Matrizen.",
  "The query and the keys": "Die Anfrage und die Schlüssel",
  "Each key has its true length and its true angle to the query. The more it points the same way, the higher its score.":
    "Jeder Schlüssel hat seine wahre Länge und seinen wahren Winkel zur Anfrage. Je mehr er in ihre Richtung zeigt, desto höher ist sein Score.",
  "Scores become weights": "Scores werden Gewichte",
  "A word has 100 % of attention to spend. Softmax divides it: it raises e to the power of each score, and divides by the sum. No weight is negative, and together they are 1.":
    "Ein Wort hat 100 % Aufmerksamkeit zu vergeben. Die Softmax verteilt sie: Sie nimmt e hoch jeden Score und teilt durch die Summe. Kein Gewicht ist negativ, und zusammen sind sie 1.",
  "{0} gives the most to {1}: {2}.": "{0} gibt das meiste an {1}: {2}.",
  itself: "sich selbst",
  "all weights of this head": "alle Gewichte dieses Kopfs",
  "Add 1 to every score of this row. What do the weights do?":
    "Erhöhe jeden Score dieser Zeile um 1. Was machen die Gewichte?",
  "All grow": "Alle wachsen",
  "They stay as they are": "Sie bleiben, wie sie sind",
  "The largest one grows": "Das größte wächst",
  "Every bar becomes {0} times as high, and so does their sum. Only differences of scores count.":
    "Jeder Balken wird {0}-mal so hoch, und ihre Summe auch. Nur Unterschiede zwischen Scores zählen.",
  "Softmax: scores become parts of 100": "Softmax: Scores werden Teile von 100",
  "Weights in percent": "Gewichte in Prozent",
  "Each bar is e to the power of its score, in parts of all bars together. A score that is 1 higher makes a bar {0} times as high.":
    "Jeder Balken ist e hoch seinen Score, als Teil aller Balken zusammen. Ist ein Score um 1 höher, wird der Balken {0}-mal so hoch.",
  "Values mix": "Werte mischen sich",
  "Each word also has a value: what it gives. Attention adds all values, each times its weight. The sum is the mix for {0}.":
    "Jedes Wort hat auch einen Wert: was es gibt. Die Aufmerksamkeit addiert alle Werte, jeden mal sein Gewicht. Die Summe ist die Mischung für {0}.",
  "{0} of the mix come from the value of {1}. Words with small weights give little.":
    "{0} der Mischung kommen vom Wert von {1}. Wörter mit kleinem Gewicht geben wenig.",
  "the product of weights and values": "das Produkt aus Gewichten und Werten",
  "If one weight were 100 %, say that of {0}, what would the mix be?":
    "Angenommen, ein Gewicht wäre 100 %, etwa das von {0}: Was wäre dann die Mischung?",
  "The key of {0}": "Der Schlüssel von {0}",
  "The value of {0}": "Der Wert von {0}",
  "The mean of all values": "Der Mittelwert aller Werte",
  "1 × its value + 0 × all others: attention would copy that value. With equal weights it would be the mean.":
    "1 × sein Wert + 0 × alle anderen: Die Aufmerksamkeit würde diesen Wert kopieren. Bei gleichen Gewichten wäre es der Mittelwert.",
  "The mix": "Die Mischung",
  "{0} of “{1}”": "{0} „{1}“",
  "+ {0} more": "+ {0} weitere",
  "= mix": "= Mischung",
  "The first {0} numbers of weight × value, and their sum.":
    "Die ersten {0} Zahlen von Gewicht × Wert, und ihre Summe.",
  "The word’s vector moves": "Der Vektor des Worts bewegt sich",
  "The mix goes through one more matrix, and is added to the word’s vector, with the mixes of the other heads. So the vector moves: it now holds the word and something of its sentence.":
    "Die Mischung geht noch durch eine Matrix und wird zum Vektor des Worts addiert, zusammen mit den Mischungen der anderen Köpfe. So bewegt sich der Vektor: Er enthält nun das Wort und etwas von seinem Satz.",
  "{0}Layer {1} moves them {2}: from {3} to {4}.": "{0}Nach Schicht {1} liegen sie {2}: erst {3}, dann {4}.",
  "{0} and {1} are one word with two meanings. ": "{0} und {1} sind ein Wort mit zwei Bedeutungen. ",
  "further apart": "weiter auseinander",
  "nearer to each other": "näher beieinander",
  "as far apart as before": "so weit auseinander wie zuvor",
  "how far each word’s information travels": "wie weit die Information jedes Worts reicht",
  "Which of the two moved further?": "Welches der beiden hat sich weiter bewegt?",
  "Both as far": "Beide gleich weit",
  "{0} moved {1}, {2} {3}. Before attention the vector of {4} was {5} long, that of {6} {7}.":
    "{0} hat sich um {1} bewegt, {2} um {3}. Vor der Aufmerksamkeit war der Vektor von {4} {5} lang, der von {6} {7}.",
  "Two words before attention (rings) and after it (dots)":
    "Zwei Wörter vor der Aufmerksamkeit (Ringe) und danach (Punkte)",
  "Apart: {0} before, {1} after": "Abstand: {0} vorher, {1} nachher",
  "Rings: before attention. Dots: after it. The vectors have 512 numbers; this plane holds {0} of their spread.":
    "Ringe: vor der Aufmerksamkeit. Punkte: danach. Die Vektoren haben 512 Zahlen; diese Ebene fasst {0} ihrer Streuung.",
  "Heads look at different things": "Köpfe schauen auf Verschiedenes",
  "You have followed one head. A layer has {0}, each with its own queries, keys and values. Each looks elsewhere. Their mixes are joined, and one matrix makes the move of them.":
    "Bis hierher bist du einem Kopf gefolgt, einem Aufmerksamkeitskopf. Eine Schicht hat {0}, jeder mit eigenen Anfragen, Schlüsseln und Werten. Jeder schaut woandershin. Ihre Mischungen werden aneinandergehängt, und eine Matrix macht daraus die Bewegung.",
  "For {0}, head {1} makes the largest part of the move: {2}. It looks at {3} most ({4}).":
    "Bei {0} macht Kopf {1} den größten Teil der Bewegung: {2}. Am meisten schaut er auf {3} ({4}).",
  "the sentence without head {0}": "der Satz ohne Kopf {0}",
  "Switch head {0} off. How much of the move is left, in its old direction?":
    "Schalte Kopf {0} aus. Wie viel bleibt von der Bewegung, in der alten Richtung?",
  Nothing: "Nichts",
  "All of it: the others take over": "Alles: Die anderen springen ein",
  "The parts of the heads are added, so {0} are left in this layer. No head here learns that another one is gone.":
    "Die Teile der Köpfe werden addiert, also bleiben in dieser Schicht {0}. Kein Kopf erfährt hier, dass ein anderer fehlt.",
  "Where “{0}” looks, in percent": "Wohin „{0}“ schaut, in Prozent",
  "The heads of layer {0}": "Die Köpfe der Schicht {0}",
  "its part": "sein Teil",
  "Its part: how much of the move of “{0}” a head makes. The bias of the layer makes {1}; together 100 %.":
    "Sein Teil: wie viel von der Bewegung von „{0}“ ein Kopf macht. Der Bias der Schicht macht {1}; zusammen 100 %.",
  "Positions tell words apart": "Positionen unterscheiden Wörter",
  "Without positions, attention sees a bag of words: each word looks the same way wherever it stands.":
    "Ohne Positionen sieht die Aufmerksamkeit einen Sack voller Wörter: Jedes Wort schaut gleich, wo immer es steht.",
  "Write a sentence in which a word stands twice, and see what positions do to it.":
    "Schreib einen Satz, in dem ein Wort zweimal steht, und sieh, was Positionen mit ihm machen.",
  "positions with this sentence": "Positionen mit diesem Satz",
  "Positions tell {0} from {1}": "Positionen unterscheiden {0} von {1}",
  "Leave the positions out, and {0} and {1} start as one vector. They ask the same, they get the same mix, they make the same move.":
    "Lass die Positionen weg, und {0} und {1} beginnen als derselbe Vektor. Sie fragen dasselbe, sie bekommen dieselbe Mischung, sie machen dieselbe Bewegung.",
  "After layer {0} they are {1} apart; with positions, {2}. Attention does not see order: positions bring it.":
    "Nach Schicht {0} liegen sie {1} auseinander, mit Positionen {2}. Aufmerksamkeit sieht keine Reihenfolge: Die bringen erst die Positionen.",
  "There is a second layer. Without positions, how far apart are they after it?":
    "Es gibt eine zweite Schicht. Wie weit liegen sie nach ihr auseinander, ohne Positionen?",
  "As far as with positions": "So weit wie mit Positionen",
  "Half as far": "Halb so weit",
  "Not apart": "Gar nicht",
  "With positions {0}, without them {1}. What is equal stays equal, however many layers follow.":
    "Mit Positionen {0}, ohne sie {1}. Was gleich ist, bleibt gleich, wie viele Schichten auch folgen.",
  on: "an",
  off: "aus",
  "Where {0} and {1} look, in percent": "Wohin {0} und {1} schauen, in Prozent",
  "Apart: {0} with positions, {1} without": "Abstand: {0} mit Positionen, {1} ohne",
  "{0}, with positions on and off. Apart: the distance of their vectors after attention.":
    "{0}, mit Positionen und ohne. Abstand: wie weit ihre Vektoren nach der Aufmerksamkeit auseinanderliegen.",

  // ——— end of Lesson

  // ——— Sentence

  "Before and after": "Vorher und nachher",
  Before: "Vorher",
  After: "Nachher",
  "Difference, in percentage points": "Unterschied, in Prozentpunkten",
  "{0}, in percent": "{0}, in Prozent",
  Cosines: "Kosinus",
  "All heads of the sentence": "Alle Köpfe des Satzes",
  "All heads of the other sentence": "Alle Köpfe des anderen Satzes",
  "Links between the tokens": "Verbindungen zwischen den Token",
  "Compare with": "Vergleichen mit",
  links: "Verbindungen",
  "all heads": "alle Köpfe",
  scores: "Scores",
  "rollout of both layers": "Rollout beider Schichten",
  "two sentences": "zwei Sätze",
  "Look closer": "Genauer hinsehen",
  Show: "Zeigen",
  "One token": "Ein Token",
  "The other token": "Das andere Token",
  "phone and RAM": "„phone“ und „RAM“",
  "Each direction has its own score": "Jede Richtung hat ihren eigenen Score",
  "score, {0} of the attention": "Score, {0} der Aufmerksamkeit",
  "The picture": "Das Bild",
  "Weights of the head": "Gewichte des Kopfs",
  "Most of a habit": "Am meisten von einer Gewohnheit",
  "Eight heads, three habits": "Acht Köpfe, drei Gewohnheiten",
  "How much of its attention a head gives, on average, to the token before, to the first token, and to the token itself. Choose a head, or jump to the one that does most of it.":
    "Wie viel seiner Aufmerksamkeit ein Kopf im Mittel dem Token davor gibt, dem ersten Token und dem Token selbst. Wähle einen Kopf, oder spring zu dem, der am meisten davon tut.",
  "Habits of the heads": "Gewohnheiten der Köpfe",
  Habits: "Gewohnheiten",
  "Hide tokens": "Token verbergen",
  "Undo all changes": "Alle Änderungen rückgängig machen",
  On: "An",
  "Strength of its output": "Stärke seiner Ausgabe",
  "Attention moved": "Verschobene Aufmerksamkeit",
  "What if …": "Was wäre, wenn …",
  "Switch a head off or scale it, or hide a token from all others. A head’s own map stays; the heads of the layer after it attend differently.":
    "Schalte einen Kopf aus, mach ihn stärker oder schwächer, oder verbirg ein Token vor allen anderen. Die Karte des Kopfs selbst bleibt; die Köpfe der Schicht danach schauen anders.",
  Heads: "Köpfe",
  "Strength of {0}": "Stärke von {0}",
  "{0} is on": "{0} ist an",
  rollout: "Rollout",
  "Weights of {0}, in percent": "Gewichte von {0}, in Prozent",
  "What each word looks at, in percent": "Worauf jedes Wort schaut, in Prozent",
  "The rows of {0}, with positions and without, in percent": "Die Zeilen von {0}, mit Positionen und ohne, in Prozent",
  "The two rows of {0}, positions on and off": "Die zwei Zeilen von {0}, mit Positionen und ohne",
  embedding: "Einbettung",
  "The sentences are being read.": "Die Sätze werden gelesen.",
  "Strongest links of this head": "Stärkste Verbindungen dieses Kopfs",
  "Sentences, one per line": "Sätze, einer pro Zeile",
  "Similarity board": "Ähnlichkeiten",
  "The cosine of the angle between two sentences’ embeddings: 1 is the same meaning, 0 is unrelated.":
    "Der Kosinus des Winkels zwischen den Einbettungen zweier Sätze: 1 heißt dieselbe Bedeutung, 0 heißt nicht verwandt.",
  "Tell the model where each word stands": "Dem Modell sagen, wo jedes Wort steht",
  "Which {0} is which?": "Welches {0} ist welches?",
  "What does each word look at?": "Worauf schaut jedes Wort?",
  "There is nothing to read yet: type a sentence.": "Noch gibt es nichts zu lesen: Schreib einen Satz.",
  "Without positions, {0} look alike.": "Ohne Positionen schauen {0} genau gleich.",
  "Without positions, {0} differ by up to {1}.": "Ohne Positionen unterscheiden sich {0} um bis zu {1}.",
  "Told where they stand, they are equal.": "Auch wenn sie wissen, wo sie stehen, sind sie gleich.",
  "Told where they stand, they differ by up to {0}.":
    "Wenn sie wissen, wo sie stehen, unterscheiden sie sich um bis zu {0}.",
  "Besides itself, {0} looks most at {1} ({2}) and {3} at {4} ({5}).":
    "Außer auf sich selbst schaut {0} am meisten auf {1} ({2}) und {3} auf {4} ({5}).",
  "Without positions their rows are equal.": "Ohne Positionen sind ihre Zeilen gleich.",
  "Without positions their rows differ by up to {0}.": "Ohne Positionen unterscheiden sich ihre Zeilen um bis zu {0}.",
  "The model knows no word of this text. It was trained on English.":
    "Das Modell kennt kein Wort dieses Texts. Es hat nur Englisch gelernt.",
  "The strongest link from word to word in {0} is {1}.": "Die stärkste Verbindung von Wort zu Wort in {0} ist {1}.",
  "No word looks at a word in {0}.": "In {0} schaut kein Wort auf ein Wort.",
  "{0} looks at {1} ({2})": "{0} schaut auf {1} ({2})",
  "{0} looks only at itself (100 %)": "{0} schaut nur auf sich selbst (100 %)",
  "Positions on: the rows are equal": "Mit Positionen: Die Zeilen sind gleich",
  "Positions on: the rows differ by up to {0}": "Mit Positionen: Die Zeilen unterscheiden sich um bis zu {0}",
  "Positions off: the rows are equal": "Ohne Positionen: Die Zeilen sind gleich",
  "Positions off: the rows differ by up to {0}": "Ohne Positionen: Die Zeilen unterscheiden sich um bis zu {0}",
  "{0} gives {1} of its attention to itself (score {2}).":
    "{0} gibt {1} seiner Aufmerksamkeit sich selbst (Score {2}).",
  "{0} gives {1} of its attention to {2} (score {3}).": "{0} gibt {1} seiner Aufmerksamkeit an {2} (Score {3}).",
  "The other way, {0} gives {1} of its attention to {2} (score {3}).":
    "Umgekehrt gibt {0} {1} seiner Aufmerksamkeit an {2} (Score {3}).",
  "No word spreads any attention, as every token is hidden.":
    "Kein Wort verteilt Aufmerksamkeit, denn jedes Token ist verborgen.",
  "Each row is one word: how it spreads 100 % of its attention over all words. Point at a number.":
    "Jede Zeile ist ein Wort: wie es 100 % seiner Aufmerksamkeit auf alle Wörter verteilt. Zeig auf eine Zahl.",
  "{0} with itself has one score only. Choose two tokens.":
    "{0} mit sich selbst hat nur einen Score. Wähle zwei Token.",
  "The two scores are equal.": "Die zwei Scores sind gleich.",
  "The two scores are {0} apart.": "Die zwei Scores liegen {0} auseinander.",
  "{0} Queries and keys come from different matrices; from one matrix, both scores would be equal.":
    "{0} Anfragen und Schlüssel kommen aus verschiedenen Matrizen; aus einer Matrix wären beide Scores gleich.",
  "{0} of what is known at {1} comes from the token itself.":
    "{0} von dem, was bei {1} bekannt ist, kommt vom Token selbst.",
  "{0} of what is known at {1} comes from {2}.": "{0} von dem, was bei {1} bekannt ist, kommt von {2}.",
  " The model reads {0}: the last {1} is left out.": " Das Modell liest {0}: Am Ende fehlt {1}.",
  " The model reads {0}: the last {1} are left out.": " Das Modell liest {0}: Am Ende fehlen {1}.",
  "The first {0} of {1} are read.": "Die ersten {0} von {1} werden gelesen.",
  "{0} is read.": "{0} wird gelesen.",
  "{0} are read.": "{0} werden gelesen.",
  "Nothing is changed. Switch a head off, or hide a token, to see two maps here.":
    "Nichts ist verändert. Schalte einen Kopf aus oder verbirg ein Token, um hier zwei Karten zu sehen.",
  "The sentence’s embedding turned: its cosine with the original is {0}.":
    "Die Einbettung des Satzes hat sich gedreht: Ihr Kosinus mit der ursprünglichen ist {0}.",
  "No weight of attention changes.": "Kein Gewicht der Aufmerksamkeit ändert sich.",
  "{0} changes most: {1} of its attention is elsewhere.":
    "{0} ändert sich am meisten: {1} der Aufmerksamkeit liegt woanders.",
  "{0} changes most: from {1} to {2}.": "{0} ändert sich am meisten: von {1} auf {2}.",
  "one back": "eins zurück",
  "at the first": "auf das erste",
  "at itself": "auf sich selbst",
  "Cosine of the two sentences: {0}. Both maps show the same head.":
    "Kosinus der zwei Sätze: {0}. Beide Karten zeigen denselben Kopf.",
  "What you see first was computed by headwise when this page was built. When you change something, your browser loads the model ({0} MB) and computes with headwise itself. The weights are stored as float16. Over {1}, with positions and without, this moves no weight of attention by more than {2} percentage points, and every embedding keeps a cosine of at least {3} with the original’s.":
    "Was du zuerst siehst, hat headwise berechnet, als diese Seite gebaut wurde. Wenn du etwas änderst, lädt dein Browser das Modell ({0} MB) und rechnet selbst, mit headwise. Die Gewichte sind als float16 gespeichert. Gemessen über {1}, mit Positionen und ohne: Kein Gewicht der Aufmerksamkeit ändert sich dadurch um mehr als {2} Prozentpunkte, und jede Einbettung behält einen Kosinus von mindestens {3} mit der ursprünglichen.",
  "The only token is hidden: no token looks at anything, and every weight is 0 %.":
    "Das einzige Token ist verborgen: Kein Token schaut auf etwas, und jedes Gewicht ist 0 %.",
  "All {0} tokens are hidden: no token looks at anything, and every weight is 0 %.":
    "Alle {0} Token sind verborgen: Kein Token schaut auf etwas, und jedes Gewicht ist 0 %.",
  "less than 1 percentage point": "weniger als 1 Prozentpunkt",
  "{0} percentage point": "{0} Prozentpunkt",

  // ——— end of Sentence

  // ——— Matrix

  // ——— end of Matrix

  // ——— Positions

  learned: "gelernt",
  sinusoidal: "sinusförmig",
  rotary: "rotierend",
  "with learned positions": "mit gelernten Positionen",
  "with sinusoidal positions": "mit sinusförmigen Positionen",
  "with rotary positions": "mit rotierenden Positionen",
  "No word stands twice here. Write one again: without positions its two rows are the same.":
    "Hier steht kein Wort zweimal. Schreib eines noch einmal: Ohne Positionen sind seine zwei Zeilen gleich.",
  "{0} they are the same, number for number.": "{0} sind sie gleich, Zahl für Zahl.",
  "{0} they differ by {1}.": "{0} unterscheiden sie sich um {1}.",
  "Without positions the rows of {0} and {1} are the same, number for number; {2}":
    "Ohne Positionen sind die Zeilen von „{0}“ und „{1}“ gleich, Zahl für Zahl; {2}",
  "Without positions the rows of {0} and {1} differ by {2}; {3}":
    "Ohne Positionen unterscheiden sich die Zeilen von „{0}“ und „{1}“ um {2}; {3}",
  "less than {0} percentage points": "weniger als {0} Prozentpunkte",
  "up to {0} percentage points": "bis zu {0} Prozentpunkte",
  "at most {0} percentage points": "höchstens {0} Prozentpunkte",
  "The text has no word, so “word” stands for one.": "Der Text hat kein Wort, deshalb steht „word“ für eines.",
  "A punctuation mark counts as a word, and capitals do not matter.":
    "Ein Satzzeichen zählt als Wort, und Groß- oder Kleinschreibung ist egal.",
  "The first {0} of {1} words are shown; the last one is left out. {2}":
    "Von {1} Wörtern sind die ersten {0} zu sehen; das letzte fehlt. {2}",
  "The first {0} of {1} words are shown; the last {2} are left out. {3}":
    "Von {1} Wörtern sind die ersten {0} zu sehen; die letzten {2} fehlen. {3}",
  "Both texts begin at place 1. Move one of them with the slider.":
    "Beide Texte beginnen an Stelle 1. Verschiebe einen mit dem Regler.",
  "No: {0} later every weight is the same, number for number.":
    "Nein: {0} weiter ist jedes Gewicht dasselbe, Zahl für Zahl.",
  "No: {0} later every weight is the same, but for rounding ({1}).":
    "Nein: {0} weiter ist jedes Gewicht dasselbe, bis auf Rundung ({1}).",
  "Yes: {0} later the weights change by {1}.": "Ja: {0} weiter ändern sich die Gewichte um {1}.",
  "Side by side: learned positions change weights by {0}, sinusoidal ones by {1}, rotary ones by {2}.":
    "Nebeneinander: Gelernte Positionen ändern Gewichte um {0}, sinusförmige um {1}, rotierende um {2}.",
  "How much {0} scores itself at each distance. Both curves begin at place 1, so they are one.":
    "Welchen Score sich „{0}“ in jedem Abstand selbst gibt. Beide Kurven beginnen an Stelle 1, also sind sie eine.",
  "Solid: the text begins at place 1. Dashed: it begins at place {0}.":
    "Durchgezogen: Der Text beginnt an Stelle 1. Gestrichelt: Er beginnt an Stelle {0}.",
  "{0} The curves are one: only the distance counts.": "{0} Die Kurven sind eine: Nur der Abstand zählt.",
  "less than {0}": "weniger als {0}",
  "up to {0}": "bis zu {0}",
  "{0} They part by {1}: the place itself counts.": "{0} Sie weichen um {1} voneinander ab: Die Stelle selbst zählt.",
  "in the learned table": "in der gelernten Tabelle",
  "in the sinusoidal table": "in der Tabelle der Sinuskurven",
  "{0} and {1} are both": "„{0}“ und „{1}“ werden beide",
  "Place {0} has one row {1}, and every word that stands there gets it: {2} moved by the same {3} numbers, the largest of size {4}.":
    "Stelle {0} hat eine Zeile {1}, und jedes Wort, das dort steht, bekommt sie: {2} um dieselben {3} Zahlen verschoben, die größte vom Betrag {4}.",
  "Pair {0}, features {1} and {2}: sine and cosine of place × {3}. The wave repeats every {4} places.":
    "Paar {0}, Merkmale {1} und {2}: Sinus und Kosinus von Stelle × {3}. Die Welle wiederholt sich alle {4} Stellen.",
  "Both stand in one place, so the angle between them stays as it was.":
    "Beide stehen an einer Stelle, also bleibt der Winkel zwischen ihnen, wie er war.",
  "The key stands {0} before the query, so the angle between them changes by {1}.":
    "Der Schlüssel steht {0} vor der Anfrage, also ändert sich der Winkel zwischen ihnen um {1}.",
  "The key stands {0} after the query, so the angle between them changes by {1}.":
    "Der Schlüssel steht {0} hinter der Anfrage, also ändert sich der Winkel zwischen ihnen um {1}.",
  "The query of {0} at place {1} turns by {2}, the key of {3} at place {4} by {5}. {6} Their product in this plane is {7}, wherever the text begins.":
    "Die Anfrage von „{0}“ an Stelle {1} dreht sich um {2}, der Schlüssel von „{3}“ an Stelle {4} um {5}. {6} Ihr Produkt in dieser Ebene ist {7}, wo immer der Text beginnt.",
  "There is one word only: it can look at nothing but itself.":
    "Es gibt nur ein Wort: Es kann auf nichts schauen als auf sich selbst.",
  "Every word after the first looks most at the word before it, with at least {0}. Nothing stands before the first word: it looks most at itself, with at least {1}.":
    "Jedes Wort nach dem ersten schaut am meisten auf das Wort davor, mit mindestens {0}. Vor dem ersten Wort steht nichts: Es schaut am meisten auf sich selbst, mit mindestens {1}.",
  "Every word looks most at the first one, with at least {0}.":
    "Jedes Wort schaut am meisten auf das erste, mit mindestens {0}.",
  "Every word looks most at itself, with at least {0}.":
    "Jedes Wort schaut am meisten auf sich selbst, mit mindestens {0}.",
  "No filter of a convolution does this: the first word is at another distance from each word. A head asks for it by its place.":
    "Kein Filter einer Faltung kann das: Das erste Wort ist von jedem Wort anders weit entfernt. Ein Kopf fragt nach seiner Stelle.",
  "A filter of a convolution with weight 1 one place back looks there too: the weights of this head after the first word differ from it by {0}.":
    "Auch ein Filter einer Faltung mit Gewicht 1 eine Stelle zurück schaut dorthin: Nach dem ersten Wort unterscheiden sich die Gewichte dieses Kopfs von ihm um {0}.",
  "A filter of a convolution with weight 1 at the place itself looks there too: the weights of this head differ from it by {0}.":
    "Auch ein Filter einer Faltung mit Gewicht 1 an der Stelle selbst schaut dorthin: Die Gewichte dieses Kopfs unterscheiden sich von ihm um {0}.",
  "{0} A filter has the same weights for every word, and a fixed width; a head makes its weights from what it reads.":
    "{0} Ein Filter hat für jedes Wort dieselben Gewichte und eine feste Breite; ein Kopf macht seine Gewichte aus dem, was er liest.",
  "the first word": "das erste Wort",
  "Random numbers stand for what a model would have learned: the vectors of the words, W_Q, W_K and the table of learned positions. They are the same on every visit. Sines, rotations and the hand-made heads are not random.":
    "Zufallszahlen stehen für das, was ein Modell gelernt hätte: die Vektoren der Wörter, W_Q, W_K und die Tabelle der gelernten Positionen. Sie sind bei jedem Besuch dieselben. Sinuskurven, Drehungen und die Köpfe von Hand sind nicht zufällig.",
  "without positions": "ohne Positionen",
  "hand-made": "von Hand",
  "Weights without positions": "Gewichte ohne Positionen",
  "Weights with positions": "Gewichte mit Positionen",
  "Weights of heads made by hand": "Gewichte der Köpfe von Hand",
  "Base b": "Basis b",
  "Word in its place": "Wort an seiner Stelle",
  "Another word, put there": "Ein anderes Wort, dorthin gesetzt",
  "Query of": "Anfrage von",
  "Key of": "Schlüssel von",
  "Words, some of them twice": "Wörter, einige davon zweimal",
  "Without positions": "Ohne Positionen",
  "Does it matter where the text begins?": "Ist es wichtig, wo der Text beginnt?",
  "Move the text by (places)": "Text verschieben um (Stellen)",
  "Added: every place has its row": "Addiert: Jede Stelle hat ihre Zeile",
  "Sinusoids: a clock for each pair of features": "Sinuskurven: eine Uhr für jedes Paar von Merkmalen",
  "Pair m": "Paar m",
  "Rotary: a pair of features turns in its plane": "Rotierend: Ein Paar von Merkmalen dreht sich in seiner Ebene",
  "Pale: the pair before its rotation. Strong: after it. Move the text: both turn on, and keep their angle.":
    "Blass: das Paar vor seiner Drehung. Kräftig: danach. Verschiebe den Text: Beide drehen sich weiter und behalten ihren Winkel.",
  "Heads made by hand: they know places, not words": "Köpfe von Hand: Sie kennen Stellen, keine Wörter",
  "Queries and keys are made of the sinusoidal rows p alone. One back: W_Q turns each pair back by one place. The first word: every query is the row of place 1. Itself: W_Q changes nothing. s is the sharpness.":
    "Anfragen und Schlüssel bestehen nur aus den Zeilen p der Sinuskurven. Eins zurück: W_Q dreht jedes Paar um eine Stelle zurück. Das erste Wort: Jede Anfrage ist die Zeile der Stelle 1. Sich selbst: W_Q ändert nichts. s ist die Schärfe.",
  "The head looks at": "Der Kopf schaut auf",
  "Sharpness s": "Schärfe s",
  "one head": "ein Kopf",
  "begins at place {0}": "beginnt an Stelle {0}",
  "distance {0}": "Abstand {0}",
  "Scores by distance. {0}": "Scores nach Abstand. {0}",
  "{0} and {1}: the words": "„{0}“ und „{1}“: die Wörter",
  "+ the row of place {0}, twice": "+ die Zeile der Stelle {0}, zweimal",
  "= what the projections get": "= was die Projektionen bekommen",
  "{0}, feature {1}": "„{0}“, Merkmal {1}",
  "The sinusoidal table, places 0 to {0}. {1}": "Die Tabelle der Sinuskurven, Stellen 0 bis {0}. {1}",
  "place {0}, feature {1}": "Stelle {0}, Merkmal {1}",
  "Features 0 to {0} from top to bottom, places 0 to {1} from left to right. Frames: this pair, and the places of the text.":
    "Merkmale 0 bis {0} von oben nach unten, Stellen 0 bis {1} von links nach rechts. Rahmen: dieses Paar und die Stellen des Texts.",
  sine: "Sinus",
  cosine: "Kosinus",
  "place {0}": "Stelle {0}",
  "Solid: the sine. Dashed: the cosine.": "Durchgezogen: der Sinus. Gestrichelt: der Kosinus.",
  "q of {0}": "q von {0}",
  "k of {0}": "k von {0}",

  // ——— end of Positions

  // ——— Masks

  // ——— end of Masks

  // ——— Flash

  Step: "Schritt",
  Steps: "Schritte",
  Play: "Abspielen",
  Pause: "Pause",
  First: "Anfang",
  Back: "Zurück",
  Last: "Ende",
  "tile {0} of {1}": "Kachel {0} von {1}",
  "{0} of the {1} keys that it sees": "{0} der {1} Schlüssel, die sie sieht",
  "the only key that it sees": "den einzigen Schlüssel, den sie sieht",
  "all {0} keys that it sees": "alle {0} Schlüssel, die sie sieht",
  "After {0} of {1}, row {2} has met {3}, and remembers {4} numbers: its maximum m, its sum ℓ and {5} sums o.":
    "Nach {0} von {1} kennt Zeile {2} schon {3}. Sie merkt sich {4} Zahlen: ihr Maximum m, ihre Summe ℓ und {5} Summen o.",
  "{0} computed; none is skipped.": "{0} berechnet; keine wird übersprungen.",
  "{0} computed; {1} skipped, because nothing in it is visible.":
    "{0} berechnet; {1} übersprungen, weil in ihr nichts sichtbar ist.",
  "{0} computed; {1} skipped, because nothing in them is visible.":
    "{0} berechnet; {1} übersprungen, weil in ihnen nichts sichtbar ist.",
  "Row {0} is not finished: {1} to come. A larger score would raise m, and α would shrink the sums.":
    "Zeile {0} ist nicht fertig: {1} noch offen. Ein größerer Score würde m erhöhen, und α würde die Summen verkleinern.",
  "Row {0} is finished: o/ℓ = ({1}).": "Zeile {0} ist fertig: o/ℓ = ({1}).",
  "{0} The output that headwise computes for this row is exactly the same.":
    "{0} Die Ausgabe, die headwise für diese Zeile berechnet, ist genau dieselbe.",
  "{0} The output that headwise computes for this row is the same to {1}.":
    "{0} Die Ausgabe, die headwise für diese Zeile berechnet, ist dieselbe bis auf {1}.",
  "Tiles move {0} fewer bytes and compute the same.": "Kacheln bewegen {0} weniger Bytes und berechnen dasselbe.",
  "{0} The mask leaves out whole tiles: {1} fewer operations, whichever way the others are computed.":
    "{0} Die Maske lässt ganze Kacheln weg: {1} weniger Rechenoperationen, wie auch immer die anderen berechnet werden.",
  "key {0}": "Schlüssel {0}",
  "keys {0} to {1}": "Schlüssel {0} bis {1}",
  now: "jetzt",
  done: "fertig",
  "to come": "kommt noch",
  skipped: "übersprungen",
  "Queries, keys and values are random numbers, the same at every visit.":
    "Anfragen, Schlüssel und Werte sind Zufallszahlen, bei jedem Besuch dieselben.",
  Tokens: "Token",
  "Tile: queries": "Kachel: Anfragen",
  "Tile: keys": "Kachel: Schlüssel",
  Causal: "Kausal",
  "scores of this tile": "Scores dieser Kachel",
  "Row to follow": "Zeile, der du folgst",
  "What the row remembers": "Was sich die Zeile merkt",
  "Cost of both ways": "Kosten beider Wege",
  "Tokens of one head": "Token eines Kopfs",
  "The score matrix, tile by tile": "Die Score-Matrix, Kachel für Kachel",
  "The tile": "Die Kachel",
  "What a row remembers": "Was sich eine Zeile merkt",
  "Steps of the row": "Schritte der Zeile",
  "What it costs, at length": "Was es bei langen Folgen kostet",
  "One head of {0} features in float32, in tiles of {1} × {2}. Counted, not measured; headwise chooses its tiles by the shape.":
    "Ein Kopf mit {0} Merkmalen in float32, in Kacheln von {1} × {2}. Gezählt, nicht gemessen; headwise wählt seine Kacheln nach der Form.",
  Costs: "Kosten",
  "row {0}": "Zeile {0}",
  tile: "Kachel",
  largest: "größter",
  "S × S arrays": "Arrays S × S",
  tiles: "Kacheln",
  "times less": "Ersparnis",
  "tiles that the mask leaves": "Kacheln mit Maske",
  "the mask saves": "die Maske spart",
  "Extra memory": "Zusätzlicher Speicher",
  "Bytes moved": "Bewegte Bytes",
  Operations: "Rechenoperationen",

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
};
