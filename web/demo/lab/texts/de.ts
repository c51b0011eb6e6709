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

  // ——— end of Sentence

  // ——— Matrix

  Queries: "Anfragen",
  Keys: "Schlüssel",
  Values: "Werte",
  Scores: "Scores",
  Weights: "Gewichte",
  "Output of the head": "Ausgabe des Kopfs",
  Output: "Ausgabe",
  "Projections: X, the weights, and their products Q, K and V":
    "Projektionen: X, die Gewichte und ihre Produkte Q, K und V",
  "Attention of one head: Q, K, scores, weights P, V and Y":
    "Aufmerksamkeit eines Kopfs: Q, K, Scores, Gewichte P, V und Y",
  "The joined heads Y, W_O, and their product, the output": "Die verbundenen Köpfe Y, W_O und ihr Produkt, die Ausgabe",
  "1 · Project: three views of X": "1 · Projizieren: drei Ansichten von X",
  "2 · Attend, in ": "2 · Aufmerksamkeit, in ",
  "3 · Join the heads and project": "3 · Die Köpfe verbinden und projizieren",
  "From X to the output": "Von X zur Ausgabe",
  "Every product stands at the corner of its factors (on a narrow screen, after them). Point at a number to see what made it; type over any number with a dashed frame, or paste a table of yours there.":
    "Jedes Produkt steht an der Ecke seiner Faktoren (auf einem schmalen Bildschirm nach ihnen). Zeige auf eine Zahl, um zu sehen, woraus sie entsteht. Überschreib jede Zahl mit gestricheltem Rahmen, oder füge dort eine eigene Tabelle ein.",
  "The dictionary has no key {0}: a lookup finds nothing.":
    "Das Wörterbuch hat keinen Schlüssel {0}: Nachschlagen findet nichts.",
  "A lookup finds the key {0} and its value, {1} °C.": "Nachschlagen findet den Schlüssel {0} und seinen Wert, {1} °C.",
  "Attention with sharpness 0 gives every key the same weight: {0} is the mean of all values.":
    "Aufmerksamkeit mit Schärfe 0 gibt jedem Schlüssel dasselbe Gewicht: {0} ist der Mittelwert aller Werte.",
  "Attention gives {0} of the weight to {1} and answers {2}.":
    "Aufmerksamkeit gibt {0} des Gewichts an {1} und antwortet {2}.",
  "A dictionary that softens into attention": "Ein Wörterbuch, das zu Aufmerksamkeit aufweicht",
  Query: "Anfrage",
  Sharpness: "Schärfe",
  "A dictionary finds the one key that is equal to the query, and gives its value. Attention compares the query with every key and mixes the values by how near the keys are: sharp, it is a lookup of the nearest; blunt, the mean of all. Here the keys are hours on a clock.":
    "Ein Wörterbuch findet den einen Schlüssel, der gleich der Anfrage ist, und gibt seinen Wert. Aufmerksamkeit vergleicht die Anfrage mit jedem Schlüssel und mischt die Werte danach, wie nah die Schlüssel sind: Scharf eingestellt, schlägt sie den nächsten nach; stumpf gibt sie den Mittelwert aller. Hier sind die Schlüssel Stunden auf einer Uhr.",
  "Positions are rows: Y = P·V": "Positionen sind Zeilen: Y = P·V",
  "Positions are columns: Y = V·P": "Positionen sind Spalten: Y = V·P",
  "Rows or columns: the same numbers": "Zeilen oder Spalten: dieselben Zahlen",
  "{0}, as columns": "{0}, als Spalten",
  "{0}, as rows": "{0}, als Zeilen",
  "this toy": "dieses Spielzeug",
  Parameters: "Parameter",
  "Numbers in the scores": "Zahlen in den Scores",
  Multiplications: "Multiplikationen",
  "Bytes of the scores": "Byte der Scores",
  "{0}: {1} of {2}, {3} wide, {4}, {5}.": "{0}: {1} der Breite {2}, Eingabebreite {3}, {4}, {5}.",
  "{0} position": "{0} Position",
  "{0} positions": "{0} Positionen",
  "One layer multiplies {0} times as often as this toy. Its {1} attention layers have {2} parameters.":
    "Eine Schicht multipliziert {0}-mal so oft wie dieses Spielzeug. Die {1} Aufmerksamkeitsschichten haben {2} Parameter.",
  "Twice the positions, {0}, make {1} times the scores, {2}; the {3} stay.":
    "Doppelt so viele Positionen, {0}, ergeben {1}-mal so viele Scores, {2}; die {3} bleiben.",
  "{0} parameter": "{0} Parameter",
  "{0} parameters": "{0} Parameter",
  "One layer": "Eine Schicht",
  now: "jetzt",
  "From this toy to GPT-3": "Von diesem Spielzeug zu GPT-3",
  Model: "Modell",
  "On the bars ten times as much is always the same step. The mark is this toy.":
    "Auf den Balken ist zehnmal so viel immer derselbe Schritt. Die Marke ist dieses Spielzeug.",
  "Heads: cut apart and joined again": "Köpfe: zerteilt und wieder verbunden",
  "Head {0}": "Kopf {0}",
  "P of head {0}": "P von Kopf {0}",
  "Y, joined": "Y, verbunden",
  row: "Zeile",
  column: "Spalte",
  rows: "Zeilen",
  columns: "Spalten",
  "The products multiply {0} times less often, because S is smaller than the width {1}.":
    "Die Produkte multiplizieren {0}-mal seltener, weil S kleiner ist als die Breite {1}.",
  "The recurrence multiplies {0} times less often, because S is larger than the width {1}.":
    "Die Rekurrenz multipliziert {0}-mal seltener, weil S größer ist als die Breite {1}.",
  "Both multiply equally often.": "Beide multiplizieren gleich oft.",
  "But of the recurrence’s {0} steps each waits for the one before; the numbers of a product do not wait for each other, so a processor may compute them at once.":
    "Aber von den {0} Schritten der Rekurrenz wartet jeder auf den vorigen. Die Zahlen eines Produkts warten nicht aufeinander: Ein Prozessor kann sie gleichzeitig berechnen.",
  "Steps, one after the other": "Schritte nacheinander",
  "Steps from the first position to the last": "Schritte von der ersten Position zur letzten",
  "two products": "zwei Produkte",
  "a loop over queries": "eine Schleife über Anfragen",
  "a recurrence": "eine Rekurrenz",
  "One product instead of loops": "Ein Produkt statt Schleifen",
  "Positions S": "Positionen S",
  "A recurrence reads one position after the other and keeps what it knows in a state of width {0}. Attention compares all positions in one product, Q·Kᵀ, and mixes their values in another, P·V. A loop over the queries gives the same rows, one by one.":
    "Eine Rekurrenz liest eine Position nach der anderen und behält, was sie weiß, in einem Zustand der Breite {0}. Aufmerksamkeit vergleicht alle Positionen in einem Produkt, Q·Kᵀ, und mischt ihre Werte in einem zweiten, P·V. Eine Schleife über die Anfragen ergibt dieselben Zeilen, eine nach der anderen.",
  "Another vector for {0} in X changes one {1} of Q, K and V, its own. Only P·V mixes tokens: of the {2} {3} of Y it changes {4}.":
    "Ein anderer Vektor für {0} in X ändert in Q, K und V nur eine {1}, die eigene. Erst P·V mischt Token: Von den {2} {3} von Y ändern sich {4}.",
  "Each {0} of P belongs to one query. If the weights did not depend on the query, every token would get the same {1} of Y, but for the mask. “One query for all” shows it.":
    "Jede {0} von P gehört zu einer Anfrage. Hingen die Gewichte nicht von der Anfrage ab, bekäme jedes Token dieselbe {1} von Y, abgesehen von der Maske. „Eine Anfrage für alle“ zeigt es.",
  "Each {0} of P belongs to one query. If the weights did not depend on the query, every token would get the same {1} of Y. “One query for all” shows it.":
    "Jede {0} von P gehört zu einer Anfrage. Hingen die Gewichte nicht von der Anfrage ab, bekäme jedes Token dieselbe {1} von Y. „Eine Anfrage für alle“ zeigt es.",
  "W_Q is 0 here, so all queries are equal. So are all {0} of P and of Y: attention gives every token the same.":
    "W_Q ist hier 0, also sind alle Anfragen gleich. Damit sind auch alle {0} von P und von Y gleich: Die Aufmerksamkeit gibt jedem Token dasselbe.",
  "W_Q is 0 here, so all queries are equal. The {0} of P differ only because the mask hides other keys from each token.":
    "W_Q ist hier 0, also sind alle Anfragen gleich. Die {0} von P unterscheiden sich nur, weil die Maske vor jedem Token andere Schlüssel verbirgt.",
  "Why not put the values side by side? For {0} that is S·O = {1} numbers in each head instead of {2}. W_O would need {3} numbers instead of {4}, and fit only this number of tokens. And every token would get the same.":
    "Warum nicht einfach die Werte aneinanderhängen? Für {0} sind das S·O = {1} Zahlen in jedem Kopf statt {2}. W_O bräuchte {3} Zahlen statt {4} und würde nur zu genau so vielen Token passen. Und jedes Token bekäme dasselbe.",
  "Who mixes, and why by queries": "Wer mischt, und warum nach Anfragen",
  "One query for all": "Eine Anfrage für alle",
  "This number of Y comes from head {0}. Choose head {1} above to see how.":
    "Diese Zahl von Y kommt aus Kopf {0}. Wähle oben Kopf {1}, um zu sehen, wie.",
  "Type over it: this number of X enters every number of {0} in Q, K and V.":
    "Überschreib sie: Diese Zahl von X geht in jede Zahl von {0} in Q, K und V ein.",
  "Type over it: this number of {0} is added to feature {1} of {2}, for every position.":
    "Überschreib sie: Diese Zahl von {0} wird bei jeder Position zum Merkmal {1} der Matrix {2} addiert.",
  "Type over it: this number of {0} enters feature {1} of {2}, for every position.":
    "Überschreib sie: Diese Zahl von {0} geht bei jeder Position in das Merkmal {1} der Matrix {2} ein.",
  "Row {0} of {1} times column {2} of {3}: {4} = {5}.": "Zeile {0} von {1} mal Spalte {2} von {3}: {4} = {5}.",
  "Column {0} of {1} is a mixture of the columns of {2}: {3}.":
    "Spalte {0} der Matrix {1} ist eine Mischung der Spalten von {2}: {3}.",
  "Row {0} of {1} is a mixture of the rows of {2}: {3}.":
    "Zeile {0} der Matrix {1} ist eine Mischung der Zeilen von {2}: {3}.",
  "{0}: the score is −∞.": "{0}: Der Score ist −∞.",
  "The score of {0} for {1}, divided by √D: {2} / √{3} = {4}.":
    "Der Score von {0} für {1}, geteilt durch √D: {2} / √{3} = {4}.",
  "The score of {0} for {1}: the scale is off, it stays {2}.":
    "Der Score von {0} für {1}: Die Skalierung ist aus, er bleibt {2}.",
  "{0}: the weight is 0.": "{0}: Das Gewicht ist 0.",
  "Softmax is off: the weight that {0} gives to {1} is the score, {2}.":
    "Die Softmax ist aus: Das Gewicht, das {0} an {1} gibt, ist der Score, {2}.",
  "The weight that {0} gives to {1}: {2} / ({3}) = {4}.": "Das Gewicht, das {0} an {1} gibt: {2} / ({3}) = {4}.",
  "{0} may not see {1}, which comes later": "{0} darf {1} nicht sehen, denn das kommt später",
  "{0} may not see itself": "{0} darf sich selbst nicht sehen",
  scores: "Scores",
  "weights P": "Gewichte P",
  output: "Ausgabe",
  "scaled, masked": "skaliert, maskiert",
  scaled: "skaliert",
  masked: "maskiert",
  "scores, unchanged": "Scores, unverändert",
  "Random here: only the vectors of “Why 1/√D”. They are the same every time.":
    "Zufällig sind hier nur die Vektoren von „Warum 1/√D“. Sie sind jedes Mal dieselben.",
  "What these numbers say": "Was diese Zahlen sagen",
  weights: "Gewichte",
  "Positions are": "Positionen sind",
  "Read a product as": "Ein Produkt lesen als",
  similarities: "Ähnlichkeiten",
  mixtures: "Mischungen",
  "Scale 1/√D": "Skalierung 1/√D",
  Softmax: "Softmax",
  Causal: "Kausal",
  "No token sees itself": "Kein Token sieht sich selbst",
  Biases: "Biases",
  "Equal projections": "Gleiche Projektionen",
  "S positions": "S Positionen",
  "I input width": "I Eingabebreite",
  "D key width": "D Schlüsselbreite",
  "O value width": "O Wertbreite",
  "N heads": "N Köpfe",
  temperature: "Temperatur",
  wind: "Wind",
  rain: "Regen",
  Mon: "Mo",
  Tue: "Di",
  Wed: "Mi",
  Thu: "Do",
  Fri: "Fr",
  Sat: "Sa",
  words: "Wörter",
  "days of a time series": "Tage einer Zeitreihe",
  "patches of an image": "Ausschnitte eines Bilds",
  "X holds": "X enthält",
  "What X holds": "Was X enthält",
  "Curves of {0} over {1} days": "Kurven über {1} Tage: {0}",
  "An image in {0} patches of {1} × {2} pixels": "Ein Bild in {0} Ausschnitten von {1} × {2} Pixeln",
  "A {0} of X is a word: the numbers of its vector.": "Eine {0} von X ist ein Wort: die Zahlen seines Vektors.",
  "A {0} of X is a moment, here a day: one number for each channel: {1}. 0 is a usual day.":
    "Eine {0} von X ist ein Zeitpunkt, hier ein Tag, mit einer Zahl für jeden Kanal: {1}. 0 ist ein gewöhnlicher Tag.",
  "A {0} of X is a patch of the image: its {1} × {2} pixels, one after another. 0 is dark, and 1 is bright.":
    "Eine {0} von X ist ein Ausschnitt des Bilds: seine {1} × {2} Pixel nacheinander. 0 ist dunkel, 1 ist hell.",
  "X has the first {0} of {1} days.": "X hat die ersten {0} von {1} Tagen.",
  "X has the first {0} of {1} patches.": "X hat die ersten {0} von {1} Ausschnitten.",
  "Of the {0} channels it has the first {1}.": "Von den {0} Kanälen hat X die ersten {1}.",
  "Of the {0} pixels it has the first {1}.": "Von den {0} Pixeln hat X die ersten {1}.",
  "The last {0} belongs to no channel, and is 0 at first.": "Die letzte {0} gehört zu keinem Kanal und ist anfangs 0.",
  "The last {0} belongs to no pixel, and is 0 at first.": "Die letzte {0} gehört zu keinem Pixel und ist anfangs 0.",
  "The last {0} {1} belong to no channel, and are 0 at first.":
    "Die letzten {0} {1} gehören zu keinem Kanal und sind anfangs 0.",
  "The last {0} {1} belong to no pixel, and are 0 at first.":
    "Die letzten {0} {1} gehören zu keinem Pixel und sind anfangs 0.",
  Step: "Schritt",
  "{0} of {1} · {2}": "{0} von {1} · {2}",
  Back: "Zurück",
  "Steps of the calculation": "Schritte der Rechnung",
  "{0}: variance {1}. The softmax gives its favourite {2} on average.":
    "{0}: Varianz {1}. Die Softmax gibt ihrem Favoriten im Mittel {2}.",
  "Why 1/√D": "Warum 1/√D",
  "Features D": "Merkmale D",
  "64 random queries and 64 random keys, of mean 0 and variance 1. The wider the scores spread, the more the softmax gives to a single key.":
    "64 zufällige Anfragen und 64 zufällige Schlüssel mit Mittelwert 0 und Varianz 1. Je weiter die Scores streuen, desto mehr gibt die Softmax einem einzigen Schlüssel.",
  "Without softmax the weights of {0} add up to {1}; with it, to 1.":
    "Ohne Softmax ergeben die Gewichte von {0} zusammen {1}, mit ihr 1.",
  "In head {0} any two tokens give each other the same attention.":
    "In Kopf {0} geben je zwei Token einander dieselbe Aufmerksamkeit.",
  "In head {0} {1} gives {2} of its attention to {3}; {4} may not see {5}.":
    "In Kopf {0} gibt {1} {2} seiner Aufmerksamkeit an {3}; {4} darf {5} nicht sehen.",
  "In head {0} {1} gives {2} of its attention to {3}; {4} gives {5} back.":
    "In Kopf {0} gibt {1} {2} seiner Aufmerksamkeit an {3}; {4} gibt {5} zurück.",
  "none is negative": "ist keines negativ",
  "one is negative": "ist eines negativ",
  "{0} are negative": "sind {0} negativ",
  "Softmax is off: the scores themselves are the weights. The {0} of {1} adds up to {2}; of {3} weights {4}. headwise always takes the softmax, so the page computes this step and what follows.":
    "Die Softmax ist aus: Die Scores selbst sind die Gewichte. Die {0} von {1} hat die Summe {2}; von {3} Gewichten {4}. headwise nimmt immer die Softmax, darum berechnet hier die Seite diesen Schritt und alles Weitere.",
  "{0} sees nothing: its {1} of P is all 0. Every other {2} sums to 1.":
    "{0} sieht nichts: Seine {1} von P ist ganz 0. Jede andere {2} hat die Summe 1.",
  "Every {0} of P sums to 1: a share of attention for each token.":
    "Jede {0} von P hat die Summe 1: für jedes Token ein Anteil der Aufmerksamkeit.",
  "Without softmax the {0} of {1} would add up to {2}.": "Ohne Softmax hätte die {0} von {1} die Summe {2}.",
  "Before it takes powers, headwise subtracts the largest score of each {0}: for {1}, {2}. Then no power is above 1, and none is too large for a computer. The weights stay: numerator and denominator get the same factor.":
    "Bevor headwise potenziert, zieht es in jeder {0} den größten Score ab: bei {1} sind das {2}. Dann ist keine Potenz größer als 1, und keine ist zu groß für einen Computer. Die Gewichte bleiben: Zähler und Nenner bekommen denselben Faktor.",
  "The projections are equal, so K = Q and the scores are symmetric: what one token asks of another, the other asks of it. With two projections a token can look for something that it is not.":
    "Die Projektionen sind gleich, also ist K = Q, und die Scores sind symmetrisch: Was ein Token von einem anderen will, will das andere auch von ihm. Mit zwei Projektionen kann ein Token etwas suchen, das es selbst nicht ist.",
  "Here the scores happen to be symmetric, although Q and K have projections of their own.":
    "Hier sind die Scores zufällig symmetrisch, obwohl Q und K eigene Projektionen haben.",
  "The scores are not symmetric: {0} scores {1} for {2}, and {3} scores {4} for {5}. Q says what a token looks for, K says what it offers.":
    "Die Scores sind nicht symmetrisch: Von {0} für {2} ist der Score {1}, von {3} für {5} ist er {4}. Q sagt, was ein Token sucht, K sagt, was es bietet.",
  "The scores are divided by √D = √{0} = {1}.": "Die Scores werden durch √D = √{0} = {1} geteilt.",
  "The scale is off: the scores pass as they are.": "Die Skalierung ist aus: Die Scores bleiben, wie sie sind.",
  "A token sees only what stands before it: {0} of {1} pairs are left.":
    "Ein Token sieht nur, was vor ihm steht: {0} von {1} Paaren bleiben übrig.",
  "A token sees itself and what stands before it: {0} of {1} pairs are left.":
    "Ein Token sieht sich selbst und was vor ihm steht: {0} von {1} Paaren bleiben übrig.",
  "No token sees itself; the diagonal is hidden: {0} of {1} pairs are left.":
    "Kein Token sieht sich selbst, die Diagonale ist verdeckt: {0} von {1} Paaren bleiben übrig.",
  "No mask: every token sees all {0}.": "Keine Maske: Jedes Token sieht alle {0}.",
  "The biases are off: they are 0.": "Die Biases sind aus: Sie sind 0.",
  "The four biases are added. One of them changes no weight: b_K adds the same number to all scores of a query, and the softmax takes it out again.":
    "Die vier Biases werden addiert. Einer von ihnen ändert kein Gewicht: b_K addiert zu allen Scores einer Anfrage dieselbe Zahl, und die Softmax nimmt sie wieder heraus.",
  "The four biases are added. Without softmax b_K matters, too: it moves all scores of a query.":
    "Die vier Biases werden addiert. Ohne Softmax zählt auch b_K: Er verschiebt alle Scores einer Anfrage.",
  "One head has one pattern of attention. It takes all of Q, K and V.":
    "Ein Kopf hat ein Muster der Aufmerksamkeit. Er nimmt Q, K und V ganz.",
  "The N·D = {0} features of Q and K are dealt out to {1} bins of {2}, the N·O = {3} features of V to {4} bins of {5}.":
    "Die N·D = {0} Merkmale von Q und K werden auf {1} Fächer zu je {2} verteilt, die N·O = {3} Merkmale von V auf {4} Fächer zu je {5}.",
  "Each bin has scores and a softmax of its own.": "Jedes Fach hat eigene Scores und eine eigene Softmax.",
  "Each bin has scores of its own.": "Jedes Fach hat eigene Scores.",
  "1 head of {0}": "1 Kopf mit {0}",
  "{0} heads of {1}": "{0} Köpfe mit je {1}",
  "The {0} of Q can be cut in {1}: {2}. W_Q has {3} each time: more heads cost nothing there, and give more maps of fewer features.":
    "Q hat {0} und lässt sich auf {1} zerteilen: {2}. W_Q hat jedes Mal {3}: Mehr Köpfe kosten dort nichts und geben mehr Karten aus weniger Merkmalen.",
  "{0} feature": "{0} Merkmal",
  "{0} features": "{0} Merkmale",
  "{0} way": "{0} Art",
  "{0} ways": "{0} Arten",
  "The {0} outputs, one below the other, are Y, {1}.": "Die {0} Ausgaben untereinander sind Y, {1}.",
  "The {0} outputs, side by side, are Y, {1}.": "Die {0} Ausgaben nebeneinander sind Y, {1}.",
  "The head’s output is Y, {0}.": "Die Ausgabe des Kopfs ist Y, {0}.",
  "W_O mixes the {0} and gives {1} again, so that a layer can follow a layer.":
    "W_O mischt {0} und gibt wieder {1}, damit auf eine Schicht eine Schicht folgen kann.",
  "Turned over, all {0} of P, Y and the output are equal.": "Gespiegelt sind alle {0} von P, Y und der Ausgabe gleich.",
  "Turned over, all {0} of P, Y and the output differ by less than {1}.":
    "Gespiegelt unterscheiden sich alle {0} von P, Y und der Ausgabe um weniger als {1}.",
  "{0} millionth": "{0} Millionstel",
  "{0} millionths": "{0} Millionstel",
  'headwise computes both: layout "BSE" has a row for each position, "BES" a column. {0} Point at a number to find it in the other form.':
    'headwise berechnet beide: Das Layout "BSE" hat für jede Position eine Zeile, "BES" eine Spalte. {0} Zeige auf eine Zahl, um sie in der anderen Form zu finden.',
  "if hidden": "wenn verborgen",
  "(softmax by rows)": "(Softmax je Zeile)",
  "(softmax by columns)": "(Softmax je Spalte)",

  // ——— end of Matrix

  // ——— Positions

  // ——— end of Positions

  // ——— Masks

  "Character {0}: ": "Zeichen {0}: ",
  "{0} from the scores after the formulas": "{0} aus den Scores nach den Formeln",
  "visible: which pairs a query sees": "visible: welche Paare eine Anfrage sieht",
  "score: what becomes of the score s": "score: was aus dem Score s wird",
  "Parameters, one on each line": "Parameter, einer je Zeile",
  Formulas: "Formeln",
  "Compute by formulas": "Mit Formeln rechnen",
  "The place": "Die Stelle",
  "What a formula may say": "Was eine Formel sagen darf",
  "Line {0} of the parameters is not like “window = 7” or “slope = [0.5, 0.25]”.":
    "Zeile {0} der Parameter ist nicht wie „window = 7“ oder „slope = [0.5, 0.25]“.",
  "Line {0} of the parameters gives {1} again.": "Zeile {0} der Parameter gibt {1} noch einmal an.",
  "Line {0} of the parameters gives {1} neither a number nor a list of numbers.":
    "Zeile {0} der Parameter gibt für {1} weder eine Zahl noch eine Liste von Zahlen an.",
  "The parameters have more than {0} numbers.": "Die Parameter haben mehr als {0} Zahlen.",
  "BERT, padded": "BERT, mit Padding",
  "BERT reads in both directions. A short sentence in a batch is padded: here the last {0} of {1} places are padding, which no query sees.":
    "BERT liest in beide Richtungen. Ein kurzer Satz in einem Batch wird aufgefüllt: Hier sind die letzten {0} von {1} Stellen Padding, das keine Anfrage sieht.",
  "GPT reads from left to right: a query sees itself and what came before.":
    "GPT liest von links nach rechts: Eine Anfrage sieht sich selbst und was davor kam.",
  "GPT, next tokens": "GPT, nächste Token",
  "GPT goes on with its text: the keys of {0} tokens lie in its cache, and {1} new tokens ask.":
    "GPT schreibt seinen Text weiter: Die Schlüssel von {0} Token liegen in seinem Cache, und {1} neue Token fragen.",
  "Mistral 7B (version 0.1) sees a window: a query sees itself and the 4,095 tokens before it, here the {0} before it. {1} share a key head, in the model and here.":
    "Mistral 7B (Version 0.1) sieht ein gleitendes Fenster: Eine Anfrage sieht sich selbst und die 4.095 Token davor, hier die {0} davor. {1} teilen sich einen Schlüsselkopf, im Modell und hier.",
  "BLOOM has no vectors of positions. Each head lowers a score by its slope times the distance (ALiBi), so that near tokens weigh more.":
    "BLOOM hat keine Vektoren für Positionen. Jeder Kopf senkt einen Score um seine Steigung mal den Abstand (ALiBi), sodass nahe Token mehr wiegen.",
  "Gemma 2, local layer": "Gemma 2, lokale Schicht",
  "Every second layer of Gemma 2 is local: a window of 4,096 tokens, here of {0}. Scores are kept between −50 and 50 by a tanh. {1} share a key head.":
    "Jede zweite Schicht von Gemma 2 ist lokal: ein gleitendes Fenster von 4.096 Token, hier von {0}. Ein tanh hält die Scores zwischen −50 und 50. {1} teilen sich einen Schlüsselkopf.",
  "Gemma 2, global layer": "Gemma 2, globale Schicht",
  "The other layers of Gemma 2 are global: no window. The cap of 50 and the shared key heads ({0} each) stay.":
    "Die anderen Schichten von Gemma 2 sind global: kein Fenster. Die Grenze von 50 und die geteilten Schlüsselköpfe (je {0}) bleiben.",
  "Every second layer of gpt-oss has a window of 128 tokens, here of {0}; the others have none. Each head has a learned sink, here {1} in all heads, that takes a part of every row. {2} share a key head.":
    "Jede zweite Schicht von gpt-oss hat ein gleitendes Fenster von 128 Token, hier von {0}; die anderen haben keines. Jeder Kopf hat eine gelernte Senke, hier {1} in allen Köpfen, die einen Teil jeder Zeile nimmt. {2} teilen sich einen Schlüsselkopf.",
  "Longformer sees 256 tokens on each side, here {0}. Some global tokens see everything and are seen by all; they are left out here.":
    "Longformer sieht 256 Token auf jeder Seite, hier {0}. Einige globale Token sehen alles und werden von allen gesehen; hier fehlen sie.",
  "Packed documents": "Gepackte Dokumente",
  "Three texts lie one after the other in one sequence. The list doc says for each token which text it belongs to, and no token sees another text.":
    "Drei Texte liegen hintereinander in einer Folge. Die Liste doc sagt für jedes Token, zu welchem Text es gehört, und kein Token sieht einen anderen Text.",
  "Prefix-LM": "Prefix-LM",
  "All tokens see the whole beginning, here 8 tokens. What follows it is read from left to right.":
    "Alle Token sehen den ganzen Anfang, hier 8 Token. Was danach kommt, wird von links nach rechts gelesen.",
  "First tokens and a window": "Erste Token und ein Fenster",
  "As in StreamingLLM, a query sees a window of the latest tokens and the first tokens of the text, which take the weight that no other token wants.":
    "Wie in StreamingLLM sieht eine Anfrage ein gleitendes Fenster der letzten Token und die ersten Token des Texts, die das Gewicht nehmen, das kein anderes Token will.",
  Dilated: "Mit Lücken",
  "A query sees itself and every third token before it: far, at a third of the cost.":
    "Eine Anfrage sieht sich selbst und jedes dritte Token davor: weit, für ein Drittel des Aufwands.",
  "A window for each head": "Ein Fenster je Kopf",
  "Each head has a window of its own: choose a head of the map, and the tiles follow it.":
    "Jeder Kopf hat ein eigenes Fenster: Wähle einen Kopf der Karte, und die Kacheln folgen ihm.",
  "Neighbours in an image": "Nachbarn in einem Bild",
  "The tokens are the 6 × 4 patches of an image, row by row. A patch sees itself and the patches around it.":
    "Die Token sind die 6 × 4 Ausschnitte eines Bilds, Zeile für Zeile. Ein Ausschnitt sieht sich selbst und die Ausschnitte um sich herum.",
  "T5 buckets": "T5-Buckets",
  "T5 adds a learned number for each head and each distance. Far distances share numbers: a list says which bucket a distance falls into, and a table has a number for each bucket and head. The numbers here are invented.":
    "T5 addiert eine gelernte Zahl für jeden Kopf und jeden Abstand. Große Abstände teilen sich Zahlen: Eine Liste sagt, in welchen Bucket ein Abstand fällt, und eine Tabelle hat eine Zahl für jeden Bucket und Kopf. Die Zahlen hier sind erfunden.",
  "all: every pair is visible": "alle: jedes Paar ist sichtbar",
  "mixed: some are, and each pair is asked": "gemischt: einige sind es, und jedes Paar wird geprüft",
  "none: no pair is visible, and nothing is computed": "keine: kein Paar ist sichtbar, und nichts wird berechnet",
  "lower-right": "unten rechts",
  "upper-left": "oben links",
  "Queries, keys and values are random numbers, the same at every visit.":
    "Anfragen, Schlüssel und Werte sind Zufallszahlen, bei jedem Besuch dieselben.",
  "These are rules of your own.": "Das sind deine eigenen Regeln.",
  "Rules of known models": "Regeln bekannter Modelle",
  "Rules that need a formula:": "Regeln, die eine Formel brauchen:",
  "Rules that need a formula": "Regeln, die eine Formel brauchen",
  unbounded: "unbegrenzt",
  "all keys": "alle Schlüssel",
  "Window left": "Fenster links",
  "Window right": "Fenster rechts",
  "Key length": "Schlüssellänge",
  "Query heads": "Anfrageköpfe",
  "Key heads": "Schlüsselköpfe",
  "Scale × √D": "Skalierung × √D",
  Softcap: "Softcap",
  "Sink logit": "Logit der Senke",
  "Rows that see nothing": "Zeilen, die nichts sehen",
  "ALiBi slopes": "ALiBi-Steigungen",
  "Weights under these rules": "Gewichte unter diesen Regeln",
  "What need not be computed": "Was niemand berechnen muss",
  "Attention is computed in tiles, here of at most {0} × {1} pairs.":
    "Aufmerksamkeit wird in Kacheln berechnet, hier von höchstens {0} × {1} Paaren.",
  "The rules, in their order": "Die Regeln, in ihrer Reihenfolge",
  "What they do here": "Was sie hier bewirken",
  "{0} · keys {1}": "{0} · Schlüssel {1}",
  "The tiles in words": "Die Kacheln in Worten",
  "Head {0}: {1}": "Kopf {0}: {1}",
  "{0}: {1} of 1 pair, {2}.": "{0}: {1} von 1 Paar, {2}.",
  "{0}: {1} of {2} pairs, {3}.": "{0}: {1} von {2} Paaren, {3}.",
  "A query sees {0} to {1} of 1 key": "Eine Anfrage sieht {0} bis {1} von 1 Schlüssel",
  "A query sees {0} to {1} of {2} keys": "Eine Anfrage sieht {0} bis {1} von {2} Schlüsseln",
  "The only query": "Die einzige Anfrage",
  "Every query": "Jede Anfrage",
  "{0} sees no key": "{0} sieht keinen Schlüssel",
  "{0} sees {1} of {2} keys": "{0} sieht {1} von {2} Schlüsseln",
  "{0} sees the only key": "{0} sieht den einzigen Schlüssel",
  "{0} sees all {1} keys": "{0} sieht alle {1} Schlüssel",
  "No row is empty: every query sees a key.": "Keine Zeile ist leer: Jede Anfrage sieht einen Schlüssel.",
  "1 row sees nothing ({0}; rows count from 0, as in the map). By the rule “{1}” its output is {2}.":
    "1 Zeile sieht nichts ({0}; Zeilen zählen ab 0, wie in der Karte). Nach der Regel „{1}“ ist ihre Ausgabe {2}.",
  "{0} rows see nothing ({1}; rows count from 0, as in the map). By the rule “{2}” their outputs are {3}.":
    "{0} Zeilen sehen nichts ({1}; Zeilen zählen ab 0, wie in der Karte). Nach der Regel „{2}“ ist ihre Ausgabe {3}.",
  zero: "null",
  nan: "NaN",
  uniform: "gleichmäßig",
  "zero, because there is no key to average": "null, weil es keinen Schlüssel zu mitteln gibt",
  "the mean of the values of the only key that are no padding":
    "der Mittelwert der Werte des einzigen Schlüssels, der kein Padding ist",
  "the mean of the values of all {0} keys that are no padding":
    "der Mittelwert der Werte aller {0} Schlüssel, die kein Padding sind",
  "There cannot be more key heads than query heads: {0} used.":
    "Es kann nicht mehr Schlüsselköpfe geben als Anfrageköpfe: {0} verwendet.",
  "{0} cannot share {1} key heads evenly: {2} used.":
    "{0} können sich {1} Schlüsselköpfe nicht gleichmäßig teilen: {2} verwendet.",
  "The only query head has keys and values of its own.": "Der einzige Anfragekopf hat eigene Schlüssel und Werte.",
  "Each of {0} query heads has keys and values of its own.":
    "Jeder von {0} Anfrageköpfen hat eigene Schlüssel und Werte.",
  "All {0} query heads share one key head: the cache of keys and values is {1} times smaller.":
    "Alle {0} Anfrageköpfe teilen sich einen Schlüsselkopf: Der Cache an Schlüsseln und Werten ist {1}-mal kleiner.",
  "{0} query heads share each of {1} key heads: the cache of keys and values is {2} times smaller.":
    "Je {0} Anfrageköpfe teilen sich einen von {1} Schlüsselköpfen: Der Cache an Schlüsseln und Werten ist {2}-mal kleiner.",
  "Head 1 spreads a row as if evenly over {0} keys on average (the exponential of its mean entropy).":
    "Kopf 1 streut eine Zeile im Mittel so weit, als verteilte er sie gleichmäßig auf {0} Schlüssel (e hoch ihre mittlere Entropie).",
  "In head 1 the sink takes {0} of a row on average. Head 1 spreads the rest of a row as if evenly over {1} keys on average (the exponential of its mean entropy).":
    "In Kopf 1 nimmt die Senke im Mittel {0} einer Zeile. Den Rest einer Zeile streut Kopf 1 im Mittel so weit, als verteilte er ihn gleichmäßig auf {1} Schlüssel (e hoch seine mittlere Entropie).",
  "The score formula gives NaN or +∞ for a pair that is visible: 1 row of all {0} of all heads is spoiled.":
    "Die Score-Formel ergibt NaN oder +∞ für ein Paar, das sichtbar ist: Von {0} aller Köpfe ist 1 verdorben.",
  "The score formula gives NaN or +∞ for a pair that is visible: {0} rows of all {1} of all heads are spoiled.":
    "Die Score-Formel ergibt NaN oder +∞ für ein Paar, das sichtbar ist: Von {1} aller Köpfe sind {0} verdorben.",
  "Of {0}, {1} computed whole, {2} mixed, and {3} skipped.":
    "{0}: {1} ganz berechnet, {2} gemischt berechnet, und {3} übersprungen.",
  all: "alle",
  mixed: "gemischt",
  none: "keine",
  "query {0}": "Anfrage {0}",
  "queries {0} to {1}": "Anfragen {0} bis {1}",
  "key {0}": "Schlüssel {0}",
  "keys {0} to {1}": "Schlüssel {0} bis {1}",
  "The picture counts the pairs. headwise does not: it concludes from intervals of the formula, so it may ask the pairs of a tile that is all or none.":
    "Das Bild zählt die Paare. headwise zählt nicht: Es schließt aus Intervallen der Formel, darum prüft es manchmal Paare einer Kachel, die „alle“ oder „keine“ ist.",
  "With {0} queries and as many keys, none of them padding, these rules leave something to compute in {1} of {2} of {3} × {4} pairs: {5}.":
    "Bei {0} Anfragen und ebenso vielen Schlüsseln, keiner davon Padding, lassen diese Regeln in {1} von {2} zu {3} × {4} Paaren etwas zu berechnen: {5}.",
  "These formulas are computed. The options that they can say are off.":
    "Gerechnet wird mit diesen Formeln. Die Optionen, die sie ausdrücken können, sind aus.",
  "These formulas mean the same as the options. Type in a field, and the formulas are computed instead.":
    "Diese Formeln bedeuten dasselbe wie die Optionen. Tippe in ein Feld, und es wird stattdessen mit den Formeln gerechnet.",
  "Until this is right, the pictures are drawn without formulas.":
    "Bis das stimmt, sind die Bilder ohne Formeln gezeichnet.",
  "Until this is right, the pictures show the last formula that was.":
    "Bis das stimmt, zeigen die Bilder die letzte richtige Formel.",
  "the score so far; only in score": "der Score bis hierher; nur in score",
  "the positions of query and key": "die Positionen von Anfrage und Schlüssel",
  "their rows, from 0": "ihre Zeilen, ab 0",
  "query head, key head, batch": "Anfragekopf, Schlüsselkopf, Batch",
  "the numbers of queries, of keys, and of features of a head":
    "die Anzahl der Anfragen, der Schlüssel und der Merkmale eines Kopfs",
  "arithmetic, as in JavaScript": "Rechnen wie in JavaScript",
  comparisons: "Vergleiche",
  "and, or, not, a choice": "und, oder, nicht, eine Auswahl",
  functions: "Funktionen",
  "a number of a parameter; 0 outside of the list": "eine Zahl eines Parameters; 0 außerhalb der Liste",
  "a score of -Infinity hides the pair": "ein Score von -Infinity verbirgt das Paar",

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
};
