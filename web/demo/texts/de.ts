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
  "This room has no card {0}.": "Einen Abschnitt {0} gibt es in diesem Raum nicht.",
  "There is no room “{0}”. This is the first one: {1}.": "Einen Raum „{0}“ gibt es nicht. Dies ist der erste: {1}.",
  "Files belong in the room {0}.": "Dateien gehören in den Raum {0}.",
  Reset: "Zurücksetzen",
  "Copy code": "Code kopieren",
  "Copied. It runs in Node and in a page, with headwise installed.":
    "Kopiert. Der Code läuft in Node und in einer Seite, wenn headwise installiert ist.",
  "This browser does not let the page copy; the code stands below.":
    "Dieser Browser lässt die Seite nicht kopieren; der Code steht unten.",
  "Check this": "Nachprüfen",
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
  "[space]": "[Leerzeichen]",
  "The model is the Universal Sentence Encoder Lite (Google, 2018), trained on English.":
    "Das Modell ist der Universal Sentence Encoder Lite (Google, 2018), trainiert mit englischem Text.",
  " The model was trained on English.": " Das Modell hat nur Englisch gelernt.",
  " It reads {0} of {1} words in pieces, such as “{2}”.":
    " Es liest {0} von {1} Wörtern in Stücken, zum Beispiel „{2}“.",
  " It does not know {0}.": " {0} kennt es nicht.",
  " It does not know {0}: it reads them all as the same unknown token.":
    " Es kennt nicht: {0}. Es liest sie alle als dasselbe unbekannte Token.",
  "{0}: the model does not know this. It reads it as its unknown token.":
    "{0}: Das kennt das Modell nicht. Es liest es als sein unbekanntes Token.",

  // ——— end of the shell: bar, engine, failures, controls

  // ——— rooms.ts: the doors

  Lesson: "Lektion",
  "Seven scenes, three minutes, with a sentence of yours. Scroll.":
    "Sieben Szenen, drei Minuten, mit einem Satz von dir. Scrolle.",
  "Keys: → and ←.": "Tasten: → und ←.",
  Sentence: "Satz",
  "A pretrained transformer reads your sentence, and shows what each word looks at.":
    "Ein fertig trainierter Transformer liest deinen Satz und zeigt, worauf jedes Wort schaut.",
  Matrix: "Matrix",
  "Attention on numbers that you can follow. Change one, and see what it changes on its way to the output.":
    "Aufmerksamkeit mit Zahlen, denen du folgen kannst. Ändere eine und sieh, was sie auf dem Weg zur Ausgabe verändert.",
  Positions: "Positionen",
  "The same word twice: can attention tell one from the other? Choose how a model learns where words stand.":
    "Zweimal dasselbe Wort: Kann die Aufmerksamkeit sie unterscheiden? Wähle, wie ein Modell erfährt, wo die Wörter stehen.",
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
  "Drop a whole model, or name one; or drop the weights of a layer, or queries, keys and values; and see what the heads do. Your files stay in this page.":
    "Leg ein ganzes Modell hier ab oder nenne eines beim Namen; oder leg die Gewichte einer Schicht ab, oder Anfragen, Schlüssel und Werte; und sieh, was die Köpfe tun. Deine Dateien bleiben in dieser Seite.",
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
  "With heads made by hand, two layers predict {0} of {1} repeated tokens, and one layer {2}. {3} Let the models above learn, and see whether they find the same.":
    "Mit Köpfen von Hand sagen zwei Schichten {0} von {1} wiederholten Token vorher, eine Schicht {2}. {3} Lass die Modelle oben lernen und sieh, ob sie dasselbe finden.",

  // ——— end of the tour

  // ——— figures in other pages

  "Put it into another page": "In eine andere Seite einbauen",
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
  "less than {0} %": "weniger als {0} %",
  "more than {0} %": "mehr als {0} %",
  "{0} and {1}": "{0} und {1}",
  "{0} to {1}": "{0} bis {1}",
  "{0} percentage points": "{0} Prozentpunkte",
  "{0} is": "{0} wird",
  "{0} are": "{0} werden",
  "{0} byte": "{0} Byte",
  "{0} bytes": "{0} Byte",
  "{0} character": "{0} Zeichen",
  "{0} characters": "{0} Zeichen",
  "{0} device": "{0} Gerät",
  "{0} devices": "{0} Geräte",
  "{0} engine": "{0} Engine",
  "{0} engines": "{0} Engines",
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
  "{0} steps": "{0} Schritte",
  "{0} tensor": "{0} Tensor",
  "{0} tensors": "{0} Tensoren",
  "{0} thread": "{0} Thread",
  "{0} threads": "{0} Threads",
  "{0} tile": "{0} Kachel",
  "{0} tiles": "{0} Kacheln",
  "{0} tile is": "{0} Kachel wird",
  "{0} tiles are": "{0} Kacheln werden",
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
  "Follow one word: {0}. It stands alone: with more words in your sentence, see what they do to it.":
    "Folge einem Wort: {0}. Es steht allein: Sieh mit mehr Wörtern in deinem Satz, was sie mit ihm machen.",
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
  "{0} of the mix comes from the value of {1}. Words with small weights give little.":
    "Die Mischung besteht zu {0} aus dem Wert von {1}. Wörter mit kleinem Gewicht geben wenig.",
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
  "Layer {0} moves {1} and {2} {3}: from {4} to {5}.": "Nach Schicht {0} liegen {1} und {2} {3}: erst {4}, dann {5}.",
  "Layer {0} moves {1} by {2}.": "Schicht {0} bewegt {1} um {2}.",
  "{0} and {1} are the same word twice. ": "{0} und {1} sind zweimal dasselbe Wort. ",
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
  "Rings: before attention. Dots: after it. The first layer makes 512 numbers of the 256. This plane holds {0} of their spread.":
    "Ringe: vor der Aufmerksamkeit. Punkte: danach. Die erste Schicht macht aus den 256 Zahlen 512. Diese Ebene fasst {0} ihrer Streuung.",
  "Heads look at different things": "Köpfe schauen auf Verschiedenes",
  "You have followed one head. A layer has {0}, each with its own queries, keys and values. Each may look elsewhere. Their mixes are joined, and one matrix makes the move of them.":
    "Bis hierher bist du einem Kopf gefolgt, einem Aufmerksamkeitskopf. Eine Schicht hat {0}, jeder mit eigenen Anfragen, Schlüsseln und Werten. Jeder kann woandershin schauen. Ihre Mischungen werden aneinandergehängt, und eine Matrix macht daraus die Bewegung.",
  "For {0}, head {1} makes the largest part of the move: {2}. It looks at {3} most ({4}).":
    "Bei {0} macht Kopf {1} den größten Teil der Bewegung: {2}. Am meisten schaut er auf {3} ({4}).",
  "the sentence without head {0}": "der Satz ohne Kopf {0}",
  "Switch head {0} off. How much of the move is left, in its old direction?":
    "Schalte Kopf {0} aus. Wie viel bleibt von der Bewegung, in der alten Richtung?",
  Nothing: "Nichts",
  "All of it: the others take over": "Alles: Die anderen springen ein",
  "The parts of the heads are added, so {0} is left in this layer. No head here learns that another one is gone.":
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
  "How much of its attention a head gives, on average, to the token before, to the first token, and to the token itself.":
    "Wie viel seiner Aufmerksamkeit ein Kopf im Mittel dem Token davor gibt, dem ersten Token und dem Token selbst.",
  " Choose a head, or jump to the one that does most of it.":
    " Wähle einen Kopf, oder spring zu dem, der am meisten davon tut.",
  "Habits of the heads": "Gewohnheiten der Köpfe",
  Habits: "Gewohnheiten",
  "Hide tokens": "Token verbergen",
  "Undo all changes": "Alle Änderungen rückgängig machen",
  On: "An",
  "Strength of its output": "Stärke seiner Ausgabe",
  "Attention moved": "Verschobene Aufmerksam\u00ADkeit",
  "What if …": "Was wäre, wenn …",
  "Switch a head off or scale it, or hide a token from all others. ":
    "Schalte einen Kopf aus, mach ihn stärker oder schwächer, oder verbirg ein Token vor allen anderen. ",
  "A head’s own map stays; the heads of the layer after it attend differently.":
    "Die Karte des Kopfs selbst bleibt; die Köpfe der Schicht danach schauen anders.",
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
  "The model knows no whole word of this text. It was trained on English.":
    "Das Modell kennt kein ganzes Wort dieses Texts. Es hat nur Englisch gelernt.",
  "{0} is the only word here that the model knows: there is no other one to look at.":
    "{0} ist hier das einzige Wort, das das Modell kennt: Es gibt kein anderes, auf das es sehen könnte.",
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
  "Each row is one word: how it spreads 100 % of its attention over all words.":
    "Jede Zeile ist ein Wort: wie es 100 % seiner Aufmerksamkeit auf alle Wörter verteilt.",
  "Point at a number.": "Zeige auf eine Zahl.",
  "{0} with itself has one score only. Choose two tokens.":
    "{0} mit sich selbst hat nur einen Score. Wähle zwei Token.",
  "The two scores are equal.": "Die zwei Scores sind gleich.",
  "The two scores are nearly equal.": "Die zwei Scores sind fast gleich.",
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
  "Its licence is Apache 2.0.": "Seine Lizenz ist Apache 2.0.",
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
  "Every product stands at the corner of its factors (on a narrow screen, after them).":
    "Jedes Produkt steht an der Ecke seiner Faktoren (auf einem schmalen Bildschirm nach ihnen).",
  " Point at a number to see what made it; type over any number with a dashed frame, or paste a table of yours there.":
    " Zeige auf eine Zahl, um zu sehen, woraus sie entsteht. Überschreib jede Zahl mit gestricheltem Rahmen, oder füge dort eine eigene Tabelle ein.",
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
  "The words are those of the lesson: X picks for each its row of W_Q, W_K and W_V, so scores, weights and the first numbers of the values are the lesson’s. “{0}” are the other words in one row.":
    "Die Wörter sind die der Lektion: X wählt für jedes seine Zeile von W_Q, W_K und W_V, also sind Scores, Gewichte und die ersten Zahlen der Werte die der Lektion. „{0}“ sind die anderen Wörter in einer Zeile.",
  others: "übrige",
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
  "weights P": "Gewichte P",
  output: "Ausgabe",
  "scaled, masked": "skaliert, maskiert",
  scaled: "skaliert",
  masked: "maskiert",
  "scores, unchanged": "Scores, unverändert",
  "Random here: only the vectors of “Why 1/√D”. They are the same every time.":
    "Zufällig sind hier nur die Vektoren von „Warum 1/\u2060√D“. Sie sind jedes Mal dieselben.",
  "What these numbers say": "Was diese Zahlen sagen",
  weights: "Gewichte",
  "Positions are": "Positionen sind",
  "Read a product as": "Ein Produkt lesen als",
  similarities: "Ähnlichkeiten",
  mixtures: "Mischungen",
  "Scale 1/√D": "Skalierung 1/\u2060√D",
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
  "Why 1/√D": "Warum 1/\u2060√D",
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
  'headwise computes both: layout "BSE" has a row for each position, "BES" a column. {0}':
    'headwise berechnet beide: Das Layout "BSE" hat für jede Position eine Zeile, "BES" eine Spalte. {0}',
  " Point at a number to find it in the other form.": " Zeige auf eine Zahl, um sie in der anderen Form zu finden.",
  "if hidden": "wenn verborgen",
  "(softmax by rows)": "(Softmax je Zeile)",
  "(softmax by columns)": "(Softmax je Spalte)",

  // ——— end of Matrix

  // ——— Positions

  learned: "gelernt",
  sinusoidal: "sinusförmig",
  rotary: "rotierend",
  "with learned positions": "mit gelernten Positionen",
  "with sinusoidal positions": "mit sinusförmigen Positionen",
  "with rotary positions": "mit rotierenden Positionen",
  "No word stands twice here. Write one again, and compare its two rows, with positions and without.":
    "Hier steht kein Wort zweimal. Schreib eines noch einmal und vergleiche seine zwei Zeilen, mit Positionen und ohne.",
  "{0} they are the same, number for number.": "{0} sind sie gleich, Zahl für Zahl.",
  "{0} they differ by {1}.": "{0} unterscheiden sie sich um {1}.",
  "Without positions the rows of “{0}” and “{1}” are the same, number for number; {2}":
    "Ohne Positionen sind die Zeilen von „{0}“ und „{1}“ gleich, Zahl für Zahl; {2}",
  "Without positions the rows of “{0}” and “{1}” differ by {2}; {3}":
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
  "How much “{0}” scores itself at each distance. Both curves begin at place 1, so they are one.":
    "Welchen Score sich „{0}“ in jedem Abstand selbst gibt. Beide Kurven beginnen an Stelle 1, also sind sie eine.",
  "Solid: the text begins at place 1. Dashed: it begins at place {0}.":
    "Durchgezogen: Der Text beginnt an Stelle 1. Gestrichelt: Er beginnt an Stelle {0}.",
  "{0} The curves are one: only the distance counts.": "{0} Die Kurven sind eine: Nur der Abstand zählt.",
  "less than {0}": "weniger als {0}",
  "up to {0}": "bis zu {0}",
  "{0} They part by {1}: the place itself counts.": "{0} Sie weichen um {1} voneinander ab: Die Stelle selbst zählt.",
  "in the learned table": "in der gelernten Tabelle",
  "in the sinusoidal table": "in der Tabelle der Sinuskurven",
  "“{0}” is": "„{0}“ wird",
  "“{0}” and “{1}” are both": "„{0}“ und „{1}“ werden beide",
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
  "The query of “{0}” at place {1} turns by {2}, the key of “{3}” at place {4} by {5}. {6} Their product in this plane is {7}, wherever the text begins.":
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
  "Random numbers stand for what a model would have learned: the vectors of the words, the matrices that make queries and keys, and the table of learned positions. They are the same on every visit. Sines, rotations and the hand-made heads are not random.":
    "Zufallszahlen stehen für das, was ein Modell gelernt hätte: die Vektoren der Wörter, die Matrizen für Anfragen und Schlüssel und die Tabelle der gelernten Positionen. Sie sind bei jedem Besuch dieselben. Sinuskurven, Drehungen und die Köpfe von Hand sind nicht zufällig.",
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
  "With positions": "Mit Positionen",
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
  "“{0}” and “{1}”: the words": "„{0}“ und „{1}“: die Wörter",
  "+ the row of place {0}, twice": "+ die Zeile der Stelle {0}, zweimal",
  "= what the projections get": "= was die Projektionen bekommen",
  "{0}, feature {1}": "„{0}“, Merkmal {1}",
  "The sinusoidal table, places 0 to {0}. {1}": "Die Tabelle der Sinuskurven, Stellen 0 bis {0}. {1}",
  "place {0}, feature {1}": "Stelle {0}, Merkmal {1}",
  "Features 1 to {0} from top to bottom, places 0 to {1} from left to right. Frames: this pair, and the places of the text.":
    "Merkmale 1 bis {0} von oben nach unten, Stellen 0 bis {1} von links nach rechts. Rahmen: dieses Paar und die Stellen des Texts.",
  sine: "Sinus",
  cosine: "Kosinus",
  "place {0}": "Stelle {0}",
  "Solid: the sine. Dashed: the cosine.": "Durchgezogen: der Sinus. Gestrichelt: der Kosinus.",
  "q of {0}": "q von {0}",
  "k of {0}": "k von {0}",

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
  "the mean of the values of the only key that is no padding":
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
  "query head, key head, batch, from 0": "Anfragekopf, Schlüsselkopf, Batch, ab 0",
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

  Steps: "Schritte",
  Play: "Abspielen",
  Pause: "Pause",
  First: "Anfang",
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
  done: "fertig",
  "to come": "kommt noch",
  skipped: "übersprungen",
  Tokens: "Token",
  "Tile: queries": "Kachel: Anfragen",
  "Tile: keys": "Kachel: Schlüssel",
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

  "Open this model in “Your model”": "Dieses Modell in „Dein Modell“ öffnen",
  Training: "Training",
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
  "no habit": "keine Gewohn\u00ADheit",
  "Nothing yet. When a head takes up a habit, it stands here with its step.":
    "Noch nichts. Nimmt ein Kopf eine Gewohnheit an, dann steht sie hier, mit ihrem Schritt.",
  "What happened, and when": "Was geschah, und wann",
  "learned, added": "gelernt, addiert",
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

  memory: "Speicher",
  "tokens kept": "Token darin",
  "largest change of a chance": "größte Änderung",
  Caches: "Caches",
  writes: "schreibt",
  Write: "Schreiben",
  "Stories to go on from": "Geschichten zum Weiterschreiben",
  stories: "Geschichten",
  sums: "Summen",
  Beginning: "Anfang",
  Writing: "Schreiben",
  "Begin again": "Neu beginnen",
  Temperature: "Temperatur",
  "Top k": "Top k",
  "What may come next": "Was als Nächstes kommen kann",
  "Every head, for the newest token": "Jeder Kopf, für das neueste Token",
  "A token is a word of a story, or a character of a sum. Each strip is the text from its first token to its newest, darker where the head looks. The chosen head colours the text above.":
    "Ein Token ist ein Wort einer Geschichte oder ein Zeichen einer Summe. Jeder Streifen ist der Text vom ersten Token bis zum neuesten, dunkler, wo der Kopf hinsieht. Der gewählte Kopf färbt den Text oben.",
  " Switch one off: the text is written anew, beside the one with all heads.":
    " Schalte einen aus: Der Text wird neu geschrieben, neben dem mit allen Köpfen.",
  "The cache of keys and values": "Der Cache der Schlüssel und Werte",
  "Stored as": "Gespeichert als",
  Kept: "Behalten",
  "first and last": "erste und letzte",
  "last only": "nur letzte",
  "Last tokens": "Letzte Token",
  "First tokens": "Erste Token",
  "The model": "Das Modell",
  Stop: "Anhalten",
  "Read a text that it has not learned from": "Einen Text lesen, aus dem es nicht gelernt hat",
  "A ring keeps the last tokens and drops the others, so its memory does not grow. Many heads rest on the first tokens (“sinks”). Does a ring need them? Three caches read the same text, and the model’s surprise is measured.":
    "Ein Ring behält die letzten Token und lässt die anderen fallen, so wächst sein Speicher nicht. Viele Köpfe ruhen auf den ersten Token („Sinks“). Braucht ein Ring sie? Drei Caches lesen denselben Text, und gemessen wird, wie überrascht das Modell ist.",
  "Endless text": "Endloser Text",
  "all tokens": "alle Token",
  "ring with the first ones": "Ring mit den ersten",
  "ring of the last only": "Ring nur der letzten",
  "Surprise along the text": "Überraschung entlang des Textes",
  "Surprise in nats a word. The dotted line: the rings are full.":
    "Überraschung in Nats je Wort. Die gepunktete Linie: Die Ringe sind voll.",
  "Surprise in nats a character. The dotted line: the rings are full.":
    "Überraschung in Nats je Zeichen. Die gepunktete Linie: Die Ringe sind voll.",
  "agreement (was or were)": "Übereinstimmung (was oder were)",
  "he or she": "he oder she",
  "his or her": "his oder her",
  "it or them": "it oder them",
  "who gets something": "wer etwas bekommt",
  "who has something": "wer etwas hat",
  "the colour of a thing": "die Farbe einer Sache",
  "the thing of a colour": "die Sache einer Farbe",
  "how many": "wie viele",
  "the next of a list or a song": "das Nächste einer Liste oder eines Liedes",
  "the place": "der Ort",
  "the name of a pet": "der Name eines Haustiers",
  "“{0}” falls from {1} to {2}": "„{0}“ fällt von {1} auf {2}",
  "Layer {0}, {1}": "Schicht {0}, {1}",
  "{0} looks at the word before: without it {1}.": "{0} sieht auf das Wort davor. Ohne ihn: {1}.",
  "{0} looks at the earlier place of the word that comes next: without it {1}.":
    "{0} sieht auf die frühere Stelle des Wortes, das als Nächstes kommt. Ohne ihn: {1}.",
  "{0}: without it {1}.": "{0}. Ohne ihn: {1}.",
  "The grammar knows the right word at many places. These are the shares of right choices among the words that could stand there, in stories that the model has not seen; and what is left of them when one head is off.":
    "An vielen Stellen kennt die Grammatik das richtige Wort. Das sind die Anteile richtiger Wahlen unter den Wörtern, die dort stehen könnten, in Geschichten, die das Modell nicht gesehen hat. Und das bleibt davon, wenn ein Kopf aus ist.",
  "What the heads are for": "Wozu die Köpfe da sind",
  "The bar is the chance to be taken, by temperature and top k. The line is the probability that the model gives.":
    "Der Balken ist die Chance, genommen zu werden, nach Temperatur und Top k. Die Linie ist die Wahrscheinlichkeit, die das Modell nennt.",
  " Click one to write it.": " Klicke auf eins, um es zu schreiben.",
  "Write “{0}”: {1} to be taken, {2} by the model": "„{0}“ schreiben: {1}, genommen zu werden, {2} laut Modell",
  "He or she": "He oder she",
  "It or them": "It oder them",
  "No other word has more of its weight in {0} of 1 place.":
    "Kein anderes Wort hat mehr von seinem Gewicht an {0} von 1 Stelle.",
  "No other word has more of its weight in {0} of {1} places.":
    "Kein anderes Wort hat mehr von seinem Gewicht an {0} von {1} Stellen.",
  "1 time": "1-mal",
  "In 1 story that the model has not seen, “he” or “she” comes {0}.":
    "In 1 Geschichte, die das Modell nicht gesehen hat, kommt „he“ oder „she“ {0} vor.",
  "In {0} stories that the model has not seen, “he” or “she” comes {1}.":
    "In {0} Geschichten, die das Modell nicht gesehen hat, kommt „he“ oder „she“ {1} vor.",
  "In 1 story that the model has not seen, “it” or “them” comes {0}.":
    "In 1 Geschichte, die das Modell nicht gesehen hat, kommt „it“ oder „them“ {0} vor.",
  "In {0} stories that the model has not seen, “it” or “them” comes {1}.":
    "In {0} Geschichten, die das Modell nicht gesehen hat, kommt „it“ oder „them“ {1} vor.",
  "{0} finds the name that is meant: {1} of its weight is there, on average.":
    "{0} findet den Namen, der gemeint ist: {1} seines Gewichts liegt dort, im Mittel.",
  "{0} finds the noun that is meant: {1} of its weight is there, on average.":
    "{0} findet das Substantiv, das gemeint ist: {1} seines Gewichts liegt dort, im Mittel.",
  "No head finds the name that is meant: the closest is {0}, with {1} of its weight there, on average.":
    "Kein Kopf findet den Namen, der gemeint ist: Am nächsten kommt {0}, mit {1} seines Gewichts dort, im Mittel.",
  "No head finds the noun that is meant: the closest is {0}, with {1} of its weight there, on average.":
    "Kein Kopf findet das Substantiv, das gemeint ist: Am nächsten kommt {0}, mit {1} seines Gewichts dort, im Mittel.",
  "But {0} has {1} on the word before the name.": "Aber {0} hat {1} auf dem Wort vor dem Namen.",
  "{0} has {1} on the word before the name.": "{0} hat {1} auf dem Wort vor dem Namen.",
  "But {0} has {1} on the word before the noun, which is most often its colour.":
    "Aber {0} hat {1} auf dem Wort vor dem Substantiv, und das ist meistens seine Farbe.",
  "{0} has {1} on the word before the noun, which is most often its colour.":
    "{0} hat {1} auf dem Wort vor dem Substantiv, und das ist meistens seine Farbe.",
  "The control: in {0} a person of the other sex, from the same story, trades places with the one who is meant.":
    "Die Kontrolle: An {0} tauscht eine Person des anderen Geschlechts aus derselben Geschichte den Platz mit der gemeinten.",
  "The control: in {0} a thing of the other number, with its colour, from the same story, stands for the one that is meant.":
    "Die Kontrolle: An {0} steht statt der gemeinten Sache eine im anderen Numerus da, mit ihrer Farbe, aus derselben Geschichte.",
  "{0} on the first and {1} on the second become {2} and {3}":
    "aus {0} auf dem ersten und {1} auf dem zweiten Wort werden {2} und {3}",
  "The weight of {0} moves with it: {1}.": "Das Gewicht von {0} wandert mit: {1}.",
  "The weight of {0} does not move with it: {1}.": "Das Gewicht von {0} wandert nicht mit: {1}.",
  "The model then says the other word in {0} of {1}.": "Das Modell sagt dann an {0} von {1} das andere Wort.",
  "1 place": "1 Stelle",
  "Why not the noun? “A red ball” says before its noun that it is one thing.":
    "Warum nicht das Substantiv? „A red ball“ sagt schon vor dem Substantiv, dass es eine einzige Sache ist.",
  "What says that it is one thing?": "Was sagt, dass es eine einzige Sache ist?",
  "In {0} only “a” is taken away, or put before the colour: the model says the other word in {1} of them.":
    "An {0} wird nur „a“ weggenommen oder vor die Farbe gesetzt: Das Modell sagt an {1} davon das andere Wort.",
  "If “a” stays as it was and only the noun is of the other number, it says the other word in {0} of {1}.":
    "Bleibt „a“, wie es war, und ist nur das Substantiv im anderen Numerus, dann sagt es an {0} von {1} das andere Wort.",
  "Both count alike.": "Beides zählt gleich viel.",
  "So the model goes by “a” more than by the noun.":
    "Das Modell richtet sich also mehr nach „a“ als nach dem Substantiv.",
  "So the model goes by the noun more than by “a”.":
    "Das Modell richtet sich also mehr nach dem Substantiv als nach „a“.",
  "With all heads {0} of {1} are right. Without {2} it is {3}; guessing would get about half. Without {4}, which looks there least in its layer, it is {5}.":
    "Mit allen Köpfen sind {0} von {1} richtig. Ohne {2} sind es {3}; geraten wäre es etwa die Hälfte. Ohne {4}, der in seiner Schicht am wenigsten dorthin sieht, sind es {5}.",
  "The grammar is simple: “he” and “she” mean the one whom the latest sentence is about. A head need not know more.":
    "Die Grammatik ist einfach: „he“ und „she“ meinen die Person, von der der letzte Satz handelt. Mehr muss ein Kopf nicht wissen.",
  "The grammar is simple: “it” and “them” mean the thing that was named last. A head need not know more.":
    "Die Grammatik ist einfach: „it“ und „them“ meinen die Sache, die zuletzt genannt wurde. Mehr muss ein Kopf nicht wissen.",
  "As it is told": "Wie es erzählt ist",
  "With another person": "Mit einer anderen Person",
  "With another thing": "Mit einer anderen Sache",
  "{0}: the next word is “{1}” with {2}, and “{3}” with {4}.":
    "{0}: Das nächste Wort ist „{1}“ mit {2} und „{3}“ mit {4}.",
  "“{0}” means {1}: {2} has {3} of its weight on “{4}”.": "„{0}“ meint {1}: {2} hat {3} seines Gewichts auf „{4}“.",
  "“{0}” means the {1}: {2} has {3} of its weight on “{4}”.":
    "„{0}“ meint „{1}“: {2} hat {3} seines Gewichts auf „{4}“.",
  "In the text above": "Im Text oben",
  Experiments: "Experimente",
  "Each button changes one thing, and sets the room so that it can be seen above: the text, its heads, temperature 1 and top k 40. The control is the same with another word, or with other heads. The texts may be yours: end one before the word that you ask for.":
    "Jeder Knopf ändert eine Sache und stellt den Raum so ein, dass sie oben zu sehen ist: den Text, seine Köpfe, Temperatur 1 und Top-k 40. Die Kontrolle ist dasselbe mit einem anderen Wort oder mit anderen Köpfen. Die Texte dürfen deine sein: Höre vor dem Wort auf, nach dem du fragst.",
  "The word": "Das Wort",
  becomes: "wird zu",
  "The model does not know “{0}” as one word. It offers the words that it knows.":
    "Das Modell kennt „{0}“ nicht als ein Wort. Das Feld bietet die Wörter an, die es kennt.",
  "Both words are “{0}”: nothing is swapped.": "Beide Wörter sind „{0}“: Es wird nichts getauscht.",
  "“{0}” is no word of the text that the model knows.": "„{0}“ ist kein Wort des Textes, das das Modell kennt.",
  "The text has no other word for the control: a name, a place, a colour or a thing.":
    "Der Text hat kein anderes Wort für die Kontrolle: einen Namen, einen Ort, eine Farbe oder eine Sache.",
  "The text has {0} signs. At most {1} are read.": "Der Text hat {0} Zeichen. Höchstens {1} werden gelesen.",
  "Nothing of this text can be read.": "Von diesem Text ist nichts lesbar.",
  "Swap one word": "Ein Wort tauschen",
  "Switch off the heads that copy": "Die Köpfe ausschalten, die kopieren",
  "Two heads look at the answer": "Zwei Köpfe sehen auf die Antwort",
  "Reading …": "Liest …",
  "“{0}” ({1})": "„{0}“ ({1})",
  "all heads of layer {0}": "alle Köpfe von Schicht {0}",
  "The last “{0}” is now “{1}”. Of all heads {2} moves most: {3} of its weight. {4} The model expected {5}, and expects {6} now.":
    "Das letzte „{0}“ ist jetzt „{1}“. Von allen Köpfen bewegt sich {2} am meisten: {3} seines Gewichts. {4} Das Modell hat {5} erwartet und erwartet jetzt {6}.",
  "It looked at “{0}” ({1}), and looks at “{2}” now ({3}).":
    "Er hat auf „{0}“ gesehen ({1}) und sieht jetzt auf „{2}“ ({3}).",
  "The control: another word, “{0}”, becomes “{1}” instead. The same head moves {2} of its weight, and the model expects {3}.":
    "Die Kontrolle: Stattdessen wird ein anderes Wort, „{0}“, zu „{1}“. Derselbe Kopf bewegt {2} seines Gewichts, und das Modell erwartet {3}.",
  "Heads that copy look at the earlier “{0}”. Here these have at least {1} of their weight there: {2}.":
    "Köpfe, die kopieren, sehen auf das frühere „{0}“. Hier haben diese mindestens {1} ihres Gewichts dort: {2}.",
  "With all heads the model expects {0}. Without any one of them “{1}” still has at least {2}. Without all of them it has {3}.":
    "Mit allen Köpfen erwartet das Modell {0}. Fehlt nur einer von ihnen, hat „{1}“ noch mindestens {2}. Fehlen alle, hat es {3}.",
  "A head that copies looks at the earlier “{0}”. Here it is {1}: {2} of its weight is there.":
    "Ein Kopf, der kopiert, sieht auf das frühere „{0}“. Hier ist es {1}: {2} seines Gewichts ist dort.",
  "With all heads the model expects {0}. Without that head “{1}” has {2}.":
    "Mit allen Köpfen erwartet das Modell {0}. Ohne diesen Kopf hat „{1}“ {2}.",
  "The control: all other heads are off, {0}. “{1}” has {2}.":
    "Die Kontrolle: Alle anderen Köpfe sind aus, {0}. „{1}“ hat {2}.",
  "The control: another head is off, {0}. “{1}” has {2}.":
    "Die Kontrolle: Ein anderer Kopf ist aus, {0}. „{1}“ hat {2}.",
  "With all heads the model expects {0}.": "Mit allen Köpfen erwartet das Modell {0}.",
  "Most of all {0} looks at the earlier “{1}”, with {2} of its weight.":
    "Am meisten sieht {0} auf das frühere „{1}“, mit {2} seines Gewichts.",
  "The text does not have that word, so no head can look at it.":
    "Der Text hat dieses Wort nicht, also kann kein Kopf darauf sehen.",
  "This experiment needs a head with more than half of its weight there. End the text where something is said again.":
    "Dieses Experiment braucht einen Kopf, der mehr als die Hälfte seines Gewichts dort hat. Höre auf, wo der Text etwas noch einmal sagt.",
  "This experiment needs two heads with more than half of their weight there. End the text before a word that it has.":
    "Dieses Experiment braucht zwei Köpfe, die mehr als die Hälfte ihres Gewichts dort haben. Höre vor einem Wort auf, das der Text schon hat.",
  "The model says {0} instead.": "Das Modell sagt stattdessen {0}.",
  "The control: as many other heads are off, {0}. “{1}” has {2}.":
    "Die Kontrolle: Ebenso viele andere Köpfe sind aus, {0}. „{1}“ hat {2}.",
  "With all heads the model expects {0}. Two of the heads that look at that word: {1} has {2} of its weight there, {3} {4}.":
    "Mit allen Köpfen erwartet das Modell {0}. Zwei der Köpfe, die auf dieses Wort sehen: {1} hat {2} seines Gewichts dort, {3} {4}.",
  "Without {0} the model expects {1}, though {2} has {3} on “{4}” then, too.":
    "Ohne {0} erwartet das Modell {1}, obwohl {2} auch dann {3} auf „{4}“ hat.",
  "Without {0} the model expects {1} all the same.": "Ohne {0} erwartet das Modell trotzdem {1}.",
  "The control: without {0} the model expects {1}. A weight says where a head looks. Only a change says what the answer depends on.":
    "Die Kontrolle: Ohne {0} erwartet das Modell {1}. Ein Gewicht sagt, wohin ein Kopf sieht. Erst eine Änderung sagt, wovon die Antwort abhängt.",
  "Ask all heads": "Alle Köpfe fragen",
  "Reading stories …": "Liest Geschichten …",
  "The grammar knows whom “he” means, and what “it” means. Which head looks there? The weights are those of the word before the pronoun, when the model chooses it, with all heads on. Then the story is changed, and the head is switched off.":
    "Die Grammatik weiß, wen „he“ meint und was „it“ meint. Welcher Kopf sieht dorthin? Die Gewichte sind die des Wortes vor dem Pronomen, wenn das Modell es wählt und alle Köpfe an sind. Danach wird die Geschichte geändert und der Kopf ausgeschaltet.",
  "Whom “he” means, and what “it” means": "Wen „he“ meint, und was „it“ meint",
  "The text above has changed: ask again to see its pronouns.":
    "Der Text oben hat sich geändert: Frage noch einmal, um seine Pronomen zu sehen.",
  "The stories were not read to their end. Ask again.":
    "Die Geschichten wurden nicht zu Ende gelesen. Frage noch einmal.",
  "A short place that shows it well:": "Eine kurze Stelle, die es gut zeigt:",
  "No sentence that is true in its story has one of these pronouns yet.":
    "Noch kein Satz, der in seiner Geschichte wahr ist, hat eins dieser Pronomen.",
  "Which of the likely tokens is taken is random. The same seed writes the same text.":
    "Welches der wahrscheinlichen Token genommen wird, ist Zufall. Derselbe Seed schreibt denselben Text.",
  "The text": "Der Text",
  "The text with all heads on": "Der Text mit allen Köpfen",
  "Darker where {0} of the newest word looks; what the cache has dropped is pale.":
    "Dunkler, wohin {0} des neuesten Wortes sieht; was der Cache fallen ließ, ist blass.",
  "Darker where {0} of the newest character looks; what the cache has dropped is pale.":
    "Dunkler, wohin {0} des neuesten Zeichens sieht; was der Cache fallen ließ, ist blass.",
  "The story has ended. Another seed tells another one.":
    "Die Geschichte ist zu Ende. Ein anderer Seed erzählt eine andere.",
  "The grammar finds 1 sentence, and no fault: each is true in its story.":
    "Die Grammatik findet 1 Satz und keinen Fehler: Er ist in seiner Geschichte wahr.",
  "The grammar finds {0} sentences, and no fault: each is true in its story.":
    "Die Grammatik findet {0} Sätze und keinen Fehler: Jeder ist in seiner Geschichte wahr.",
  "{0} of another grammar": "{0} nach einer anderen Grammatik",
  "{0} not true in this story": "{0} in dieser Geschichte nicht wahr",
  "{0}, and {1}": "{0}, und {1}",
  "The grammar finds 1 sentence: {0}.": "Die Grammatik findet 1 Satz: {0}.",
  "The grammar finds {0} sentences: {1}.": "Die Grammatik findet {0} Sätze: {1}.",
  "It is “{0}”": "Es ist „{0}“",
  "The first of these is “{0}”": "Der erste davon ist „{0}“",
  "1 word": "1 Wort",
  "1 character": "1 Zeichen",
  gift: "Geschenk",
  song: "Lied",
  list: "Liste",
  pets: "Haustiere",
  numbers: "Zahlen",
  places: "Orte",
  "After {0} “{1}” has {2} to be taken next; keys and values take {3}.":
    "{0} gelesen: Als Nächstes kommt mit {2} „{1}“; Schlüssel und Werte brauchen {3}.",
  "After {0} “{1}” has {2}, “{3}” has {4} to be taken next; keys and values take {5}.":
    "{0} gelesen: Als Nächstes kommt mit {2} „{1}“, mit {4} „{3}“; Schlüssel und Werte brauchen {5}.",
  "float32, all tokens": "float32, alle Token",
  "the reference": "die Referenz",
  "no change": "keine Änderung",
  "Each token adds {0} layers × 2 × {1} numbers; int8 takes {2} times less than float32. Memory comes in blocks, so it grows in steps.":
    "Jedes Token bringt {0} Schichten × 2 × {1} Zahlen dazu; int8 braucht {2}-mal weniger als float32. Speicher kommt in Blöcken, deshalb wächst er in Stufen.",
  "One token marks the start of the text. It is kept too, and is not shown.":
    "Ein Token steht für den Anfang des Texts. Auch dieses ist darin; gezeigt wird es nicht.",
  "The ring holds {0} of {1}, and does not grow any more once it is full.":
    "Der Ring hält {0} von {1} und wächst nicht mehr, sobald er voll ist.",
  "Nothing of this can be read.": "Davon lässt sich nichts lesen.",
  "It reads “{0}”, which is no sum.": "Es liest „{0}“, und das ist keine Summe.",
  "A sum is two numbers of up to three digits, such as 123+456=.":
    "Eine Summe sind zwei Zahlen mit bis zu drei Ziffern, etwa 123+456=.",
  "This model does not know {0}, and leaves out what it does not know.":
    "Dieses Modell kennt {0} nicht und lässt aus, was es nicht kennt.",
  "This model does not know the word {0}, and leaves out what it does not know.":
    "Dieses Modell kennt das Wort {0} nicht und lässt aus, was es nicht kennt.",
  "This model does not know the words {0}, and leaves out what it does not know.":
    "Dieses Modell kennt die Wörter {0} nicht und lässt aus, was es nicht kennt.",
  "1 other word": "1 anderes Wort",
  "1 other character": "1 anderes Zeichen",
  "Without {0} it has written the same so far.": "Ohne {0} hat es bis jetzt dasselbe geschrieben.",
  "Without {0}: write on, and compare with what it writes with all heads.":
    "Ohne {0}: Lass es weiterschreiben, und vergleiche mit dem, was es mit allen Köpfen schreibt.",
  "Without {0} the text goes another way from word {1} on. With all heads on it is:":
    "Ohne {0} geht der Text ab Wort {1} einen anderen Weg. Mit allen Köpfen ist er:",
  "Without {0} the text goes another way from character {1} on. With all heads on it is:":
    "Ohne {0} geht der Text ab Zeichen {1} einen anderen Weg. Mit allen Köpfen ist er:",
  "{0} + {1} = {2} is right.": "{0} + {1} = {2} ist richtig.",
  "{0} + {1} is {2}, and the model says {3}.": "{0} + {1} ist {2}, und das Modell sagt {3}.",
  "The answer is written from its last digit to its first, as on paper.":
    "Die Antwort wird von der letzten Ziffer zur ersten geschrieben, wie auf Papier.",
  "After word {0}, where the rings are full: {1} nats a word with all tokens, {2} with a ring that keeps the first ones, {3} with a ring of the last ones only.":
    "Nach Wort {0}, wo die Ringe voll sind: {1} Nats je Wort mit allen Token, {2} mit einem Ring, der die ersten behält, {3} mit einem Ring nur der letzten.",
  "After character {0}, where the rings are full: {1} nats a character with all tokens, {2} with a ring that keeps the first ones, {3} with a ring of the last ones only.":
    "Nach Zeichen {0}, wo die Ringe voll sind: {1} Nats je Zeichen mit allen Token, {2} mit einem Ring, der die ersten behält, {3} mit einem Ring nur der letzten.",
  "Here it makes no difference whether the ring keeps the first tokens.":
    "Hier ist es gleich, ob der Ring die ersten Token behält.",
  "Here it helps to keep the first tokens: it saves {0} nats.":
    "Hier hilft es, die ersten Token zu behalten: Es spart {0} Nats.",
  "Here it does not help to keep the first tokens: as many more of the last ones save {0} nats.":
    "Hier hilft es nicht, die ersten Token zu behalten: Ebenso viele weitere der letzten sparen {0} Nats.",
  "The model is made for {0}.": "Das Modell ist für {0} gemacht.",
  "{0} parameters: {1} layers of {2} heads, {3} wide, for {4} words.":
    "{0} Parameter: {1} Schichten mit {2} Köpfen, {3} breit, für {4} Wörter.",
  "{0} parameters: {1} layers of {2} heads, {3} wide, for {4} characters.":
    "{0} Parameter: {1} Schichten mit {2} Köpfen, {3} breit, für {4} Zeichen.",
  "It learned for {0}.": "Es hat {0} gelernt.",
  "Stories that a grammar writes.": "Geschichten, die eine Grammatik schreibt.",
  "Sums of two numbers of one to three digits.": "Summen zweier Zahlen mit einer bis drei Ziffern.",
  "Of sums that it has not learned, it answers {0} exactly.":
    "Von Summen, die es nicht gelernt hat, beantwortet es {0} genau.",
  "It writes at temperature {0} without a top k: {1} of its sentences are of the grammar, and {2} are also true in their story. A comma, a stop or a quote counts as a word.":
    "Es schreibt bei Temperatur {0} ohne Top k: {1} seiner Sätze folgen der Grammatik, und {2} sind auch in ihrer Geschichte wahr. Ein Komma, ein Punkt oder ein Anführungszeichen zählt als Wort.",
  "On text that it has not learned from it has {0} nats a character.":
    "Auf Text, aus dem es nicht gelernt hat, hat es {0} Nats je Zeichen.",
  "{0} words a second": "{0} Wörter je Sekunde",
  "{0} characters a second": "{0} Zeichen je Sekunde",
  // ——— end of Generate

  // ——— Your model

  "is no .npy file: it does not begin with “{0}”": "ist keine .npy-Datei: Sie beginnt nicht mit „{0}“",
  "is cut short: its header is missing": "ist abgeschnitten: Ihr Kopf fehlt",
  "is cut short: its header should have {0} bytes, and {1} are there":
    "ist abgeschnitten: Ihr Kopf sollte {0} Byte haben, und {1} sind da",
  "holds something that this page does not read; it reads {0}":
    "enthält etwas, das diese Seite nicht liest; sie liest {0}",
  "holds {0} that this page does not read; it reads {1}": "enthält {0}, das diese Seite nicht liest; sie liest {1}",
  "has no shape in its header": "hat keine Form in ihrem Kopf",
  "holds big-endian numbers; this page reads little-endian ones":
    "enthält Big-Endian-Zahlen; diese Seite liest Little-Endian",
  "holds {0} bytes of numbers where its shape asks for {1} × {2}":
    "enthält {0} Byte an Zahlen, wo ihre Form {1} × {2} verlangt",
  "{0} could not be read: {1}": "{0} konnte nicht gelesen werden: {1}",
  "is neither .npy nor .safetensors": "ist weder .npy noch .safetensors",
  "is no .safetensors file: it is shorter than 8 bytes": "ist keine .safetensors-Datei: Sie ist kürzer als 8 Byte",
  "is no .safetensors file, or is cut short: its header is longer than the file":
    "ist keine .safetensors-Datei oder ist abgeschnitten: Ihr Kopf ist länger als die Datei",
  "is no .safetensors file: its header is no list of tensors":
    "ist keine .safetensors-Datei: Ihr Kopf ist keine Liste von Tensoren",
  "is no .safetensors file: its header is not JSON": "ist keine .safetensors-Datei: Ihr Kopf ist kein JSON",
  "has a tensor “{0}” without a type or a shape": "hat einen Tensor „{0}“ ohne Typ oder Form",
  "is cut short or damaged: the numbers of “{0}” lie outside the file":
    "ist abgeschnitten oder beschädigt: Die Zahlen von „{0}“ liegen außerhalb der Datei",
  "holds “{0}” as {1}; this page reads {2}": "enthält „{0}“ als {1}; diese Seite liest {2}",
  "Leave all heads as they are": "Alle Köpfe lassen, wie sie sind",
  "The model is being read.": "Das Modell wird gelesen.",
  "It reads": "Es liest",
  text: "Text",
  "numbers of tokens": "Nummern von Token",
  Text: "Text",
  "Numbers of tokens (none: random ones that are repeated)":
    "Nummern von Token (keine: zufällige, die sich wiederholen)",
  "A habit is told from a score of": "Eine Gewohnheit zählt ab einem Score von",
  "The tokens": "Die Token",
  "Every head of every layer": "Jeder Kopf jeder Schicht",
  "no model is shown whose weights could be compared":
    "es wird kein Modell gezeigt, dessen Gewichte sich vergleichen ließen",
  "is as it is": "ist, wie er ist",
  "This head": "Dieser Kopf",
  "No habit with a name reaches the threshold.": "Keine Gewohnheit mit einem Namen erreicht die Schwelle.",
  "What comes next": "Was als Nächstes kommt",
  "What turns": "Was sich dreht",
  "What is hidden": "Was verdeckt ist",
  "No head reaches the threshold.": "Kein Kopf erreicht die Schwelle.",
  "Scores are the mean weight on what the name says, over these tokens, from 0 to 1; with changes, → what it is now.":
    "Ein Score ist das mittlere Gewicht auf dem, was der Name sagt, über diese Token, von 0 bis 1; mit Änderungen: → was es jetzt ist.",
  "What the heads do": "Was die Köpfe tun",
  "Reading the weights": "Liest die Gewichte",
  "Show the example": "Das Beispiel zeigen",
  "Drop the folder of a model here: BERT, RoBERTa, GPT-2, Pythia, Llama, Qwen, Gemma, Phi-3 and others":
    "Ziehe den Ordner eines Modells hierher: BERT, RoBERTa, GPT-2, Pythia, Llama, Qwen, Gemma, Phi-3 und andere",
  "config.json and .safetensors; with tokenizer.json it reads text. Files stay in this page.":
    "config.json und .safetensors; mit tokenizer.json liest es Text. Die Dateien bleiben in dieser Seite.",
  "Choose a folder": "Ordner wählen",
  "Choose files": "Dateien wählen",
  "Opening the model …": "Öffnet das Modell …",
  "Asking {0} for {1} …": "Fragt {0} nach {1} …",
  "Or by its name on {0}": "Oder mit dem Namen bei {0}",
  "Ask {0} what it is (fetches less than 1 MB)": "{0} fragen, was es ist (holt weniger als 1 MB)",
  "Nothing is fetched before you press the button. It reads what the model is, and how large; then you decide about its weights.":
    "Vor dem Druck auf den Knopf wird nichts geholt. Er liest, was das Modell ist und wie groß; über die Gewichte entscheidest du dann.",
  "Kept in this browser:": "In diesem Browser aufgehoben:",
  "Forget what is kept": "Aufgehobenes vergessen",
  "“{0}” is no name of a model: write OWNER/NAME, such as {1}.":
    "„{0}“ ist kein Name eines Modells: schreib BESITZER/NAME, etwa {1}.",
  "Load the model: fetches about {0} from {1}, and keeps them in this browser":
    "Modell laden: holt etwa {0} von {1} und hebt sie in diesem Browser auf",
  "What this browser keeps of it already is not fetched again.":
    "Was dieser Browser davon schon aufgehoben hat, wird nicht noch einmal geholt.",
  "{0} could not be reached. Look at the network, and try again: what has come is kept. Or download the files of {1} elsewhere, and choose their folder":
    "{0} war nicht zu erreichen. Prüfe das Netz und versuche es noch einmal: was schon da ist, ist aufgehoben. Oder lade die Dateien von {1} anderswo herunter und wähle ihren Ordner",
  "{0} sends files of {1} from another server, and the policy of this page (connect-src) does not allow that one. Download them from {2}, and choose their folder here":
    "{0} schickt Dateien von {1} von einem anderen Server, und den erlaubt die Richtlinie dieser Seite (connect-src) nicht. Lade sie von {2} herunter und wähle hier ihren Ordner",
  "{0} has no model “{1}” that everybody may read. Look at the spelling, OWNER/NAME, or choose a name from the list":
    "{0} hat kein Modell „{1}“, das alle lesen dürfen. Prüfe die Schreibweise, BESITZER/NAME, oder wähle einen Namen aus der Liste",
  "{0} came from {1}, and it is no model that this page can run ({2}). Choose a GPT-2 or another name from the list":
    "{0} kam von {1} und ist kein Modell, das diese Seite rechnen kann ({2}). Wähle ein GPT-2 oder einen anderen Namen aus der Liste",
  "Until then, an example: two layers without feed-forward blocks that the lab has trained to repeat letters, as the room Train does. It knows the letters A to Z, a to z, Ä and Ö and the digits; whatever else you type, spaces too, is left out.":
    "Bis dahin ein Beispiel: zwei Schichten ohne Feedforward-Blöcke, die das Lab trainiert hat, Buchstaben zu wiederholen, so wie im Raum Trainieren. Es kennt die Buchstaben A bis Z, a bis z, Ä und Ö und die Ziffern; was du sonst tippst, auch Leerzeichen, wird weggelassen.",
  "Load the model": "Modell laden",
  "Keep the matrices": "Die Matrizen behalten",
  "What would be loaded": "Was geladen würde",
  "A model of the type {0} with {1}: {2} weights, {3} in the files.":
    "Ein Modell vom Typ {0} ({1}): {2} Gewichte, {3} in den Dateien.",
  "as stored": "wie gespeichert",
  "{0}; it does not fit, because loading needs {1}": "{0}; das passt nicht, denn zum Laden braucht es {1}",
  "This model is refused: it is not known what {0} of config.json changes.":
    "Dieses Modell wird abgelehnt: Es ist nicht bekannt, was {0} in config.json ändert.",
  "This model is refused: it is not known what {0} of config.json change.":
    "Dieses Modell wird abgelehnt: Es ist nicht bekannt, was {0} in config.json ändern.",
  "This model cannot be loaded: {0} is missing.": "Dieses Modell lässt sich nicht laden: {0} fehlt.",
  "This model cannot be loaded: {0} are missing.": "Dieses Modell lässt sich nicht laden: {0} fehlen.",
  "This model does not fit: it needs at least {0}, and the engine can have {1}.":
    "Dieses Modell passt nicht: Es braucht mindestens {0}, und die Engine kann {1} haben.",
  "{0} No weight has been read yet.": "{0} Noch ist kein Gewicht gelesen.",
  "Nothing reads {0}.": "Nichts liest {0}.",
  "These fields of config.json change nothing: {0}.": "Diese Felder von config.json ändern nichts: {0}.",
  "{0} of the files: {1}": "{0} der Dateien: {1}",
  "{0} more": "{0} weitere",
  "“{0}” is no number of a token: write numbers with spaces between them":
    "„{0}“ ist keine Nummer eines Tokens: Schreibe Zahlen mit Leerzeichen dazwischen",
  "Click a token to see what the model expects after it.":
    "Klicke auf ein Token, um zu sehen, was das Modell danach erwartet.",
  "Click a token to see what the model expects in its place.":
    "Klicke auf ein Token, um zu sehen, was das Modell an seiner Stelle erwartet.",
  "token {0}": "Token {0}",
  "first token": "erstes Token",
  induction: "Induktion",
  "offset {0}": "Abstand {0}",
  "is off": "ist aus",
  "gives its mean everywhere": "gibt überall seinen Mittelwert",
  "looks at the first token only": "sieht nur auf das erste Token",
  "looks at the token before only": "sieht nur auf das Token davor",
  mean: "Mittel",
  "→ first": "→ erstes",
  "→ before": "→ davor",
  "A model of the type {0} with {1}, and {2}; its weights take {3}. {4}.":
    "Ein Modell vom Typ {0}: {1}, {2}; seine Gewichte brauchen {3}. {4}.",
  "{0} of {1}, {2} wide": "{0} mit je {1}, {2} breit",
  "Reading the weights: {0} of {1}": "Liest die Gewichte: {0} von {1}",
  "The room reads at most {0} of this model: the last 1 of yours is left out.":
    "Der Raum liest bei diesem Modell höchstens {0}: Dein letztes ist weggelassen.",
  "The room reads at most {0} of this model: the last {1} of yours are left out.":
    "Der Raum liest bei diesem Modell höchstens {0}: Deine letzten {1} sind weggelassen.",
  "{0}: {1}": "{0}: {1}",
  "This {0} has no head that predicts tokens. Change a head, and see which tokens’ last states turn.":
    "Dieses {0} hat keinen Ausgang, der Token vorhersagt. Ändere einen Kopf, und sieh, wessen letzte Zustände sich drehen.",
  "After “{0}” the model expects “{1}”, with {2}.": "Nach „{0}“ erwartet das Modell „{1}“, mit {2}.",
  "In the place of “{0}” the model expects “{1}”, with {2}.":
    "An der Stelle von „{0}“ erwartet das Modell „{1}“, mit {2}.",
  "the last state of “{0}” turns most, to a cosine of {1} with what it was.":
    "Der letzte Zustand von „{0}“ dreht sich am meisten, auf einen Kosinus von {1} zu dem, was er war.",
  "after “{0}” the probability of “{1}” {2}.": "Die Wahrscheinlichkeit von „{1}“ nach „{0}“ {2}.",
  "in the place of “{0}” the probability of “{1}” {2}.":
    "Die Wahrscheinlichkeit von „{1}“ an der Stelle von „{0}“ {2}.",
  "stays at {0}": "bleibt bei {0}",
  "falls from {0} to {1}": "fällt von {0} auf {1}",
  "rises from {0} to {1}": "steigt von {0} auf {1}",
  "They need a head of an earlier layer that tells every token what stands before it, such as {0}. Switch such heads off, one after another, and watch the prediction: often one of them is not missed, because another one does the same.":
    "Dazu braucht es einen Kopf einer früheren Schicht, der jedem Token sagt, was vor ihm steht, etwa {0}. Schalte solche Köpfe aus, einen nach dem anderen, und beobachte die Vorhersage: Oft fehlt einer nicht, weil ein anderer dasselbe tut.",
  "{0} looks at what followed the same token the last time: induction, which continues a text that repeats itself.":
    "{0} sieht auf das, was demselben Token letztes Mal folgte: Das ist Induktion, und sie setzt einen Text fort, der sich wiederholt.",
  "{0} look at what followed the same token the last time: induction, which continues a text that repeats itself.":
    "{0} sehen auf das, was demselben Token letztes Mal folgte: Das ist Induktion, und sie setzt einen Text fort, der sich wiederholt.",
  "{0} looks at the token before. Make one of them look there only: if that is all it does, nothing changes. Then make it look at the first token.":
    "{0} sieht auf das Token davor. Lass ihn nur dorthin sehen: Tut er nur das, dann ändert sich nichts. Lass ihn danach auf das erste Token sehen.",
  "{0} look at the token before. Make one of them look there only: if that is all it does, nothing changes. Then make it look at the first token.":
    "{0} sehen auf das Token davor. Lass einen davon nur dorthin sehen: Tut er nur das, dann ändert sich nichts. Lass ihn danach auf das erste Token sehen.",
  "{0} rests on the first token: weight goes there that no other token needs. Switch one off: often little changes.":
    "{0} ruht auf dem ersten Token: Dorthin geht Gewicht, das kein anderes Token braucht. Schalte ihn aus: Oft ändert sich wenig.",
  "{0} rest on the first token: weight goes there that no other token needs. Switch one off: often little changes.":
    "{0} ruhen auf dem ersten Token: Dorthin geht Gewicht, das kein anderes Token braucht. Schalte einen aus: Oft ändert sich wenig.",
  "No head has a habit with a name here. Choose “numbers of tokens” and leave the field empty: random tokens that are repeated show which heads copy.":
    "Kein Kopf hat hier eine Gewohnheit mit einem Namen. Wähle „Nummern von Token“ und lass das Feld leer: Zufällige Token, die sich wiederholen, zeigen, welche Köpfe kopieren.",
  "No head has a habit with a name here. Lower the threshold, or read a text in which words come twice.":
    "Kein Kopf hat hier eine Gewohnheit mit einem Namen. Senke die Schwelle, oder lies einen Text, in dem Wörter zweimal vorkommen.",
  "{0} The prediction hardly moves: it does not need this here, or other heads do the same. Change one more.":
    "{0} Die Vorhersage bewegt sich kaum: Sie braucht das hier nicht, oder andere Köpfe tun dasselbe. Ändere noch einen.",
  "{0} Of the probability, {1} goes to other tokens.": "{0} Von der Wahrscheinlichkeit gehen {1} an andere Token.",
  "The other heads keep their habits.": "Die anderen Köpfe behalten ihre Gewohnheiten.",
  "{0} needs what you changed.": "{0} braucht, was du geändert hast.",
  "{0} need what you changed.": "{0} brauchen, was du geändert hast.",
  "The bar is the cosine of a token’s last hidden state with that of the model as it is. 1: nothing has changed.":
    "Der Balken ist der Kosinus zwischen dem letzten Zustand eines Tokens und dem im unveränderten Modell. 1: Nichts hat sich geändert.",
  "What may follow “{0}”.": "Was auf „{0}“ folgen kann.",
  "What may stand in the place of “{0}”.": "Was an der Stelle von „{0}“ stehen kann.",
  "The bar is the probability now, the line what it was without the changes.":
    "Der Balken ist die Wahrscheinlichkeit jetzt, die Linie die ohne die Änderungen.",
  "Click a bar to see which heads bring it.": "Klicke auf einen Balken, um zu sehen, welche Köpfe dazu beitragen.",
  "Which heads bring “{0}”?": "Welche Köpfe bringen „{0}“?",
  "Heads that have been tried": "Köpfe, die ausprobiert sind",
  "{0} of {1} heads have been tried.": "{0} von {1} Köpfen sind ausprobiert.",
  "What each head adds": "Was jeder Kopf beiträgt",
  "A head with + helps the word, a head with − hinders it. The number is what the head adds to the log-odds: +{0} doubles the odds, −{1} halves them.":
    "Ein Kopf mit + hilft dem Wort, ein Kopf mit − hemmt es. Die Zahl ist sein Beitrag zu den logarithmierten Chancen (Log-Odds): +{0} verdoppelt die Chancen, −{1} halbiert sie.",
  "Each head is switched off alone. This does not show heads that act together, or heads that stand in for each other.":
    "Jeder Kopf wird allein ausgeschaltet. Das zeigt nicht, welche Köpfe zusammen wirken und welche füreinander einspringen.",
  "Click a number to switch its head off.": "Klicke auf eine Zahl, um ihren Kopf auszuschalten.",
  "Switch {0} off": "{0} ausschalten",
  "Switch {0} off; its number is {1}": "{0} ausschalten; seine Zahl ist {1}",
  "No head matters here by itself: without any one of them “{0}” stays at about {1}.":
    "Kein Kopf zählt hier für sich allein: Ohne irgendeinen von ihnen bleibt „{0}“ bei etwa {1}.",
  "{0} brings “{1}”: without this head its probability {2}.":
    "{0} bringt „{1}“: Die Wahrscheinlichkeit {2}, wenn dieser Kopf aus ist.",
  "{0} hinders “{1}”: without this head its probability {2}.":
    "{0} hemmt „{1}“: Die Wahrscheinlichkeit {2}, wenn dieser Kopf aus ist.",
  "{0} ({1} without it)": "{0} (ohne ihn {1})",
  "Next comes {0}.": "Danach kommt {0}.",
  "Next come {0}.": "Danach kommen {0}.",
  "no tensor is chosen for {0}": "für {0} ist kein Tensor gewählt",
  "{0} should be a matrix, and has the shape [{1}]": "{0} sollte eine Matrix sein und hat die Form [{1}]",
  Key: "Schlüssel",
  Value: "Wert",
  "Tokens X": "Token X",
  "The example’s tensors are random numbers, and so are the tokens X.":
    "Die Tensoren des Beispiels sind Zufallszahlen, und die Token X auch.",
  "The example’s tensors are random numbers.": "Die Tensoren des Beispiels sind Zufallszahlen.",
  "The tokens X are random numbers.": "Die Token X sind Zufallszahlen.",
  "The tokens are random ones, which are repeated.": "Die Token sind zufällige, die sich wiederholen.",
  Files: "Dateien",
  "Which tensor is what": "Welcher Tensor was ist",
  "Nothing is shown: these tensors and settings do not fit.":
    "Nichts wird gezeigt: Diese Tensoren und Einstellungen passen nicht zusammen.",
  "the definition would take minutes on tensors of this size":
    "die Definition würde für Tensoren dieser Größe Minuten brauchen",
  "queries, keys, values": "Anfragen, Schlüssel, Werte",
  "weights of a layer": "Gewichte einer Schicht",
  "a whole model": "ein ganzes Modell",
  "I have": "Ich habe",
  Layout: "Layout",
  "Weights stored": "Gewichte gespeichert",
  "Weights of your tensors": "Gewichte deiner Tensoren",
  Result: "Ergebnis",
  "Save {0}": "{0} speichern",
  Tensors: "Tensoren",
  "Drop .npy or .safetensors here, or the folder of a model, or choose files":
    "Ziehe .npy oder .safetensors hierher, oder den Ordner eines Modells, oder wähle Dateien",
  "They are read in this page and are not sent anywhere.":
    "Sie werden in dieser Seite gelesen und nirgendwohin gesendet.",
  "Until then, an example of random numbers:": "Bis dahin ein Beispiel aus Zufallszahlen:",
  "Read from your files:": "Aus deinen Dateien gelesen:",
  "{0} random tokens": "{0} zufällige Token",
  choose: "wählen",
  "An example of random numbers: {0}. Drop files of your own anywhere on this page.":
    "Ein Beispiel aus Zufallszahlen: {0}. Ziehe eigene Dateien irgendwo auf diese Seite.",
  "{0} is {1}": "{0} ist {1}",
  "X is {0} random tokens": "X sind {0} zufällige Token",
  "Your tensors: {0}; {1}.": "Deine Tensoren: {0}; {1}.",
  "Nothing is shown: no file could be read.": "Nichts wird gezeigt: Keine Datei konnte gelesen werden.",
  "Nothing is shown yet: no tensor is chosen for {0}.": "Noch wird nichts gezeigt: Für {0} ist kein Tensor gewählt.",
  "Output [{0}]: {1}": "Ausgabe [{0}]: {1}",
  "{0}, and none is finite.": "{0}, und keine ist endlich.",
  "{0} from {1} to {2}.": "{0} von {1} bis {2}.",
  "{0} from {1} to {2}; 1 of them is not finite.": "{0} von {1} bis {2}; 1 davon ist nicht endlich.",
  "{0} from {1} to {2}; {3} of them are not finite.": "{0} von {1} bis {2}; {3} davon sind nicht endlich.",
  "The map shows batch 0 of {0}.": "Die Karte zeigt Batch 0 von {0}.",
  "There are {0} weights: the map asks for the rows that it draws.":
    "Es gibt {0} Gewichte: Die Karte fragt nach den Zeilen, die sie zeichnet.",
  "The {0} weights of this layer are too many for a map.":
    "Die {0} Gewichte dieser Schicht sind zu viele für eine Karte.",
  // ——— end of Your model

  // ——— Your device

  "Rate of each engine in each case, below its roof. The table after it has all numbers.":
    "Rate jeder Engine in jedem Fall, unter ihrem Dach. Die Tabelle danach hat alle Zahlen.",
  "operations for each byte that must move": "Operationen je Byte, das bewegt werden muss",
  "Computes the table of cases that tests every engine of headwise on this device’s GPU, with every variant of the kernels, and compares it with the definition in double precision. Then it measures the speed, and what backend “auto” makes of it. It runs in this page; nothing is sent. You may keep the result as a file.":
    "Rechnet die Tabelle der Fälle, die jede Engine von headwise prüft, auf der GPU dieses Geräts, mit jeder Variante der Kernel, und vergleicht sie mit der Definition in doppelter Genauigkeit. Danach misst es die Geschwindigkeit und was das Backend „auto“ daraus macht. Es läuft in dieser Seite; nichts wird gesendet. Du kannst das Ergebnis als Datei behalten.",
  "Nothing is proved yet.": "Noch ist nichts geprüft.",
  "Progress of the proof": "Fortschritt der Prüfung",
  "Prove this GPU": "Diese GPU prüfen",
  "Quick check": "Schnelle Prüfung",
  Cancel: "Abbrechen",
  "It ends after the case that runs.": "Es endet nach dem laufenden Fall.",
  "It runs: at most {0} min. Leave this tab in front.": "Es läuft: höchstens {0} min. Lass diesen Tab vorn.",
  "It cannot run: {0}.": "Es kann nicht laufen: {0}.",
  "The proof was interrupted: {0}.": "Die Prüfung wurde unterbrochen: {0}.",
  "Is its GPU right, and how fast?": "Rechnet seine GPU richtig, und wie schnell?",
  "Cases by variant": "Fälle nach Variante",
  Kernels: "Kernel",
  Right: "Richtig",
  Wrong: "Falsch",
  "Speed on the GPU": "Geschwindigkeit auf der GPU",
  Case: "Fall",
  Time: "Zeit",
  Rate: "Rate",
  "What auto chooses": "Was auto wählt",
  "Backend “auto”: {0}.": "Backend „auto“: {0}.",
  "Heads × queries × keys × width": "Köpfe × Anfragen × Schlüssel × Breite",
  "“auto” gives it to": "„auto“ gibt es an",
  "{0} of {1}": "{0} von {1}",
  "{0} ({1} not run: {2})": "{0} ({1} nicht gelaufen: {2})",
  wrong: "falsch",
  "{0} % of {1}": "{0} % von {1}",
  copying: "Kopieren",
  "multiply-adds alone": "Multiplizieren und Addieren allein",
  "{0} of {1} cases ran on {2}; none is wrong.": "{0} von {1} Fällen liefen auf {2}; keiner ist falsch.",
  "{0} of {1} cases ran on {2}; SOME ARE WRONG.": "{0} von {1} Fällen liefen auf {2}; EINIGE SIND FALSCH.",
  "It was cancelled.": "Es wurde abgebrochen.",
  "This is a software adapter, which computes on the CPU. This proves correctness only; the times say nothing.":
    "Das ist ein Adapter in Software, der auf der CPU rechnet. Das prüft nur die Richtigkeit; die Zeiten sagen nichts.",
  "The arrays of the bench are random numbers. The time of a call does not depend on them.":
    "Die Arrays der Messung sind Zufallszahlen. Die Zeit eines Aufrufs hängt nicht von ihnen ab.",
  Figures: "Messwerte",
  "Run the bench": "Messen",
  "Cancel the bench": "Messung abbrechen",
  "It ends after the call that runs.": "Sie endet nach dem laufenden Aufruf.",
  "Seconds for each figure": "Sekunden je Messwert",
  "What this browser offers": "Was dieser Browser bietet",
  "Measuring. Leave this tab in front, and the machine alone.": "Misst. Lass diesen Tab vorn, und das Gerät in Ruhe.",
  "The bench was interrupted: {0}.": "Die Messung wurde unterbrochen: {0}.",
  "Both axes are logarithmic. An engine’s roof is flat where multiply-adds limit it: those of one core with nothing else to do, times its threads. It falls to the left where memory limits it: what its threads copy together. A point above the sloping part found its numbers in a cache.":
    "Beide Achsen sind logarithmisch. Das Dach einer Engine ist flach, wo Multiplizieren und Addieren sie begrenzen: was ein Kern davon schafft, der sonst nichts tut, mal ihre Threads. Es fällt nach links ab, wo der Speicher sie begrenzt: was ihre Threads zusammen kopieren. Ein Punkt über dem schrägen Teil fand seine Zahlen in einem Cache.",
  "Arrays are copied in and results out, as in any call. The decode case reads a cache that lies in the engine. Before it is timed, every engine is compared with the definition in double precision; the last column is its largest error.":
    "Arrays werden hineinkopiert und Ergebnisse heraus, wie bei jedem Aufruf. Der Fall des nächsten Tokens liest einen Cache, der in der Engine liegt. Vor der Messung wird jede Engine mit der Definition in doppelter Genauigkeit verglichen; die letzte Spalte ist ihr größter Fehler.",
  "{0} cores are visible to this page.": "{0} Kerne sind für diese Seite sichtbar.",
  "The page is not cross-origin isolated. Serve it with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp.":
    "Die Seite ist nicht „cross-origin isolated“. Liefere sie mit Cross-Origin-Opener-Policy: same-origin und Cross-Origin-Embedder-Policy: require-corp aus.",
  "navigator.gpu is there; whether an adapter answers shows when it is asked.":
    "navigator.gpu ist da; ob ein Adapter antwortet, zeigt sich, wenn er gefragt wird.",
  "This browser has no navigator.gpu, or the page is not served over https or from localhost.":
    "Dieser Browser hat kein navigator.gpu, oder die Seite kommt nicht über https oder von localhost.",
  "{0}: yes": "{0}: ja",
  "{0}: no": "{0}: nein",
  Error: "Fehler",
  "not measured": "nicht gemessen",
  "Figures of the bench": "Messwerte",
  "This browser does not let the page copy.": "Dieser Browser lässt die Seite nicht kopieren.",
  "Copy a link to this result": "Link zu diesem Ergebnis kopieren",
  "Copy as Markdown": "Als Markdown kopieren",
  engine: "Engine",
  "headwise on {0}, {1}": "headwise auf {0}, {1}",
  "{0}, {1} % of the roof": "{0}, {1} % des Dachs",
  "the bench was cancelled when it had measured {0} of {1} figures":
    "die Messung wurde bei {0} von {1} Messwerten abgebrochen",
  "1 thread, because it is not isolated": "1 Thread, weil sie nicht isoliert ist",
  "Nothing is measured yet. This page may use {0}; WebGPU is offered.":
    "Noch ist nichts gemessen. Diese Seite darf so viel nutzen: {0}; WebGPU wird angeboten.",
  "Nothing is measured yet. This page may use {0}; WebGPU is not offered.":
    "Noch ist nichts gemessen. Diese Seite darf so viel nutzen: {0}; WebGPU wird nicht angeboten.",
  "The highest rate is {0}: {1}, in the case “{2}”.": "Die höchste Rate ist {0}: {1}, im Fall „{2}“.",
  "The highest rate so far is {0}: {1}, in the case “{2}”.": "Die bisher höchste Rate ist {0}: {1}, im Fall „{2}“.",
  "A run takes some seconds. Leave this tab in front, and the machine alone.":
    "Ein Lauf dauert einige Sekunden. Lass diesen Tab vorn, und das Gerät in Ruhe.",
  "Measured on {0}, {1}.": "Gemessen auf {0}, {1}.",
  "Measured on {0}, {1}; {2}.": "Gemessen auf {0}, {1}; {2}.",
  // ——— end of Your device

  // ——— Bench

  "The commands bench and gpu:proof write this format with --json.":
    "Die Befehle bench und gpu:proof schreiben dieses Format mit --json.",
  "{0} is not JSON. {1}": "{0} ist kein JSON. {1}",
  "{0} is not an object of the format “{1}”. {2}": "{0} ist kein Objekt des Formats „{1}“. {2}",
  "{0}: the field format must be “{1}”, and is {2}. {3}": "{0}: Das Feld format muss „{1}“ sein und ist {2}. {3}",
  "{0}: the field version must be {1}, and is {2}. This page reads version {3} only.":
    "{0}: Das Feld version muss {1} sein und ist {2}. Diese Seite liest nur Version {3}.",
  "{0}: the field {1}": "{0}: Das Feld {1}",
  "{0}: the document": "{0}: Das Dokument",
  "{0} is not one of the format.": "{0} gehört nicht zum Format.",
  "{0} is incomplete. {1}": "{0} ist unvollständig. {1}",
  "{0} is wrong. {1}": "{0} ist falsch. {1}",
  "{0} is {1}. {2}": "{0} ist {1}. {2}",
  "{0}: the field {1} is {2}, which another one has too.": "{0}: Das Feld {1} ist {2}, und das hat noch ein anderes.",
  "{0}: the field {1} is {2}, which is not in the list {3}.":
    "{0}: Das Feld {1} ist {2}, und das steht nicht in der Liste {3}.",
  "{0}: the field {1} repeats a shape, engine and device that stand before it.":
    "{0}: Das Feld {1} wiederholt eine Form, eine Engine und ein Gerät, die davor stehen.",
  missing: "nicht vorhanden",
  "{0}: measurements: {1} of {2} are neither measured nor in the list missing. The first one is “{3}” with “{4}” on “{5}”.":
    "{0}: measurements: {1} von {2} sind weder gemessen noch in der Liste missing. Die erste ist „{3}“ mit „{4}“ auf „{5}“.",
  "{0}: missing: 1 time could not be measured. {1}.": "{0}: missing: 1 Zeit konnte nicht gemessen werden. {1}.",
  "{0}: missing: {1} times could not be measured. {2}.": "{0}: missing: {1} Zeiten konnten nicht gemessen werden. {2}.",
  "{0}: samples: {1} of 1 measurement have fewer than {2} samples (the fewest: {3}). Their spread is not reliable.":
    "{0}: samples: {1} von 1 Messung hat weniger als {2} Stichproben (die wenigsten: {3}). Ihre Streuung ist nicht verlässlich.",
  "{0}: samples: {1} of {2} measurements have fewer than {3} samples (the fewest: {4}). Their spread is not reliable.":
    "{0}: samples: {1} von {2} Messungen haben weniger als {3} Stichproben (die wenigsten: {4}). Ihre Streuung ist nicht verlässlich.",
  "{0}: load: “{1}” was busy: a load of {2} on 1 core. Do not trust its times.":
    "{0}: load: „{1}“ war beschäftigt: eine Last von {2} auf 1 Kern. Traue seinen Zeiten nicht.",
  "{0}: load: “{1}” was busy: a load of {2} on {3} cores. Do not trust its times.":
    "{0}: load: „{1}“ war beschäftigt: eine Last von {2} auf {3} Kernen. Traue seinen Zeiten nicht.",
  "{0}: shapes: 1 shape of other files is missing: {1}.": "{0}: shapes: 1 Form anderer Dateien fehlt: {1}.",
  "{0}: shapes: {1} shapes of other files are missing: {2}.": "{0}: shapes: {1} Formen anderer Dateien fehlen: {2}.",
  "{0}: engines: 1 engine of other files is missing: {1}.": "{0}: engines: 1 Engine anderer Dateien fehlt: {1}.",
  "{0}: engines: {1} engines of other files are missing: {2}.":
    "{0}: engines: {1} Engines anderer Dateien fehlen: {2}.",
  "1 thread": "1 Thread",
  "more threads": "mehr Threads",
  "{0} in {1}": "{0} in {1}",
  "engines: version: {0} has {1} versions: {2}. Their times are of different programs.":
    "engines: version: {0} hat {1} Versionen: {2}. Ihre Zeiten sind von verschiedenen Programmen.",
  "{0} operations and {1} bytes": "{0} Operationen und {1} Byte",
  "{0}: shapes: “{1}” has {2}, in {3} {4}. They are shown as two shapes.":
    "{0}: shapes: „{1}“ hat {2}, in {3} {4}. Sie werden als zwei Formen gezeigt.",
  "{0}; and {1} more": "{0}; und {1} weitere",
  "“{0}” is not an address.": "„{0}“ ist keine Adresse.",
  "{0} begins with {1}; the page fetches https only, or from its own host.":
    "{0} beginnt mit {1}; die Seite holt nur über https oder von ihrem eigenen Host.",
  "{0} could not be fetched. Its host must allow it (CORS), and so must the host of this page: that of “npm start” allows its own files only. Save the file, and drop it here.":
    "{0} konnte nicht geholt werden. Sein Host muss es erlauben (CORS), und der Host dieser Seite auch: Der von „npm start“ erlaubt nur eigene Dateien. Speichere die Datei, und ziehe sie hierher.",
  "{0} could not be fetched: its host answers {1}.": "{0} konnte nicht geholt werden: Sein Host antwortet {1}.",
  "{0} has more than {1}, the most that is read.": "{0} hat mehr als {1}; so viel wird höchstens gelesen.",
  Shape: "Form",
  "all shapes": "alle Formen",
  "Divide by": "Teilen durch",
  times: "Zeiten",
  ratios: "Verhältnisse",
  device: "Gerät",
  time: "Zeit",
  "{0} of {1} bars are drawn: choose a shape.": "{0} von {1} Balken sind gezeichnet: Wähle eine Form.",
  "{0} of {1} rows are shown. The saved files have all.":
    "{0} von {1} Zeilen sind gezeigt. Die gespeicherten Dateien haben alle.",
  "… and {0} more": "… und {0} weitere",
  "Times of all files": "Zeiten aller Dateien",
  "Order by": "Ordnen nach",
  Logarithmic: "Logarithmisch",
  "Is it complete?": "Ist es vollständig?",
  "Side by side": "Nebeneinander",
  "All times": "Alle Zeiten",
  "Save bench.csv": "bench.csv speichern",
  "Save bench-rows.json": "bench-rows.json speichern",
  "There is no file to check.": "Es gibt keine Datei zu prüfen.",
  "Nothing is missing: every shape was measured with every engine on every device.":
    "Nichts fehlt: Jede Form wurde mit jeder Engine auf jedem Gerät gemessen.",
  "Drop files of the format headwise-bench here, or choose them":
    "Ziehe Dateien des Formats headwise-bench hierher, oder wähle sie",
  Remove: "Entfernen",
  "Remove {0}": "{0} entfernen",
  "Or the https address of a file": "Oder die https-Adresse einer Datei",
  Fetch: "Holen",
  "{0} is left out: the page shows {1} files.": "{0} ist weggelassen: Die Seite zeigt {1} Dateien.",
  Version: "Version",
  Device: "Gerät",
  Median: "Median",
  Quartiles: "Quartile",
  Samples: "Proben",
  "Of the roof": "Vom Dach",
  File: "Datei",
  "{0} to {1} ms": "{0} bis {1} ms",
  "No file is shown. Drop files that “{0}” has written.":
    "Keine Datei wird gezeigt. Ziehe Dateien hierher, die „{0}“ geschrieben hat.",
  "An example": "Ein Beispiel",
  "Do not trust these times: other programs were using the cores.":
    "Traue diesen Zeiten nicht: Andere Programme haben die Kerne benutzt.",
  "1 measurement of a busy device does not count here.": "1 Messung eines beschäftigten Geräts zählt hier nicht.",
  "{0} measurements of a busy device do not count here.": "{0} Messungen eines beschäftigten Geräts zählen hier nicht.",
  "No device has two engines to compare.": "Kein Gerät hat zwei Engines zum Vergleichen.",
  "Most apart, {0} ×, are {1} and {2} in “{3}”.": "Am weitesten auseinander, {0}-fach, liegen {1} und {2} in „{3}“.",
  "Bars are medians of the time of a call; the line on a bar goes from the first quartile to the third.":
    "Balken sind Mediane der Zeit eines Aufrufs; die Linie auf einem Balken geht vom ersten Quartil zum dritten.",
  "Bars are medians divided by that of {0} on the same device; below 1 is faster; the line on a bar goes from the first quartile to the third.":
    "Balken sind Mediane, geteilt durch den von {0} auf demselben Gerät; unter 1 ist schneller; die Linie auf einem Balken geht vom ersten Quartil zum dritten.",
  "Axes are logarithmic: read the time at the end of a bar, not from its length.":
    "Die Achsen sind logarithmisch: Lies die Zeit am Ende eines Balkens ab, nicht an seiner Länge.",
  "Axes begin at 0.": "Die Achsen beginnen bei 0.",
  "1 measurement without a time of that engine is left out.": "1 Messung ohne eine Zeit dieser Engine ist weggelassen.",
  "{0} measurements without a time of that engine are left out.":
    "{0} Messungen ohne eine Zeit dieser Engine sind weggelassen.",
  // ——— end of Bench

  // ——— the engine's messages

  "BERT, 12 heads × {0}": "BERT, 12 Köpfe × {0}",
  "GPT, causal {0}": "GPT, kausal {0}",
  "next token, 32/8 heads × {0}": "nächstes Token, 32/8 Köpfe × {0}",
  "there are no tokens: the text is empty, or the tokenizer knows none of it":
    "es gibt keine Token: Der Text ist leer, oder der Tokenizer kennt nichts davon",
  "the server answered {0}": "der Server antwortete {0}",
  "the decoder’s file {0} could not be loaded: {1}. “{2}” makes the decoders of this page":
    "die Datei {0} des Decoders konnte nicht geladen werden: {1}. „{2}“ erzeugt die Decoder dieser Seite",
  "the example’s file {0} could not be loaded: {1}. “{2}” makes it":
    "die Datei {0} des Beispiels konnte nicht geladen werden: {1}. „{2}“ erzeugt sie",
  "the model’s file {0} could not be loaded: {1}": "die Datei {0} des Modells konnte nicht geladen werden: {1}",
  "weights of layer {0}": "Gewichte von Schicht {0}",
  "weights of {0} on the keys that it sees": "Gewichte von {0} auf den Schlüsseln, die er sieht",
  probabilities: "Wahrscheinlichkeiten",
  "At the top of the page, under “no engine”, “Automatic” takes what this device has.":
    "Oben auf der Seite, unter „keine Engine“, nimmt „Automatisch“, was dieses Gerät hat.",
  "the engine was closed": "die Engine wurde geschlossen",
  "{0} could not be loaded: {1}": "{0} konnte nicht geladen werden: {1}",
  "the browser does not run it as a worker": "der Browser führt es nicht als Worker aus",
  "the server answers with status {0}": "der Server antwortet mit Status {0}",
  "the server does not answer": "der Server antwortet nicht",
  "the worker could not be loaded": "der Worker konnte nicht geladen werden",
  "the model was closed": "das Modell wurde geschlossen",
  "it was closed": "sie wurde geschlossen",
  // ——— end of the engine's messages

  // ——— Share

  "Share this figure": "Diese Abbildung teilen",
  Share: "Teilen",
  "Save as PNG": "Als PNG speichern",
  "Save as SVG": "Als SVG speichern",
  "Save {0} as a film (GIF)": "{0} als Film speichern (GIF)",
  "the training": "Das Training",
  "what was dropped could not be read": "was hier abgelegt wurde, ließ sich nicht lesen",
  "the training has ended": "das Training ist zu Ende",
  "the lesson": "Die Lektion",
  "Its address, with all settings": "Ihre Adresse, mit allen Einstellungen",
  "Copy the address": "Adresse kopieren",
  "Drawing …": "Wird gezeichnet …",
  "Drawing: picture {0} of {1}": "Wird gezeichnet: Bild {0} von {1}",
  "Saved.": "Gespeichert.",
  "It could not be drawn: {0}": "Das Zeichnen gelang nicht: {0}",

  // ——— end of Share
  // ——— maps

  ".": ",",
  "less than 0.0001 %": "weniger als 0,0001 %",
  "not a number": "keine Zahl",
  "empty token": "leeres Token",
  Attention: "Aufmerksamkeit",
  "Nothing to show yet.": "Noch gibt es nichts zu zeigen.",
  "Point at a cell, tap it, or use the arrow keys. Click or Enter locks it.":
    "Zeige auf eine Zelle, tippe sie an oder nimm die Pfeiltasten. Ein Klick oder Enter hält sie fest.",
  "{0} may not attend to {1}.": "{0} darf {1} nicht sehen.",
  "{0} and {1}: being computed.": "{0} und {1}: wird berechnet.",
  "{0} and {1}: not a number.": "{0} und {1}: keine Zahl.",
  "{0} scores {1} with {2}.": "{0} gibt {1} den Score {2}.",
  "{0} gives {1} of its attention to {2}.": "{0} gibt {1} seiner Aufmerksamkeit an {2}.",
  hidden: "verdeckt",
  "being computed": "wird berechnet",
  "rows: queries, columns: keys": "Zeilen: Anfragen, Spalten: Schlüssel",
  "row maximum": "Maximum der Zeile",
  "numbers: {0}": "Zahlen: {0}",
  "computed {0} of {1} slices": "{0} von {1} Stücken berechnet",
  Map: "Karte",
  "Zoom out": "Verkleinern",
  "Zoom in": "Vergrößern",
  Fit: "Ganz",
  "Fit all of it": "Ganz zeigen",
  "Save the view as SVG": "Ansicht als SVG speichern",
  "Save the view as PNG": "Ansicht als PNG speichern",
  "Save the numbers in view as CSV": "Sichtbare Zahlen als CSV speichern",
  "{0}: {1}, queries by keys": "{0}: {1}, Anfragen mal Schlüssel",
  "Switch on or off; with Shift or a double click, this one alone, and again all":
    "Ein oder aus; mit Umschalt oder Doppelklick nur dieser, und noch einmal alle",
  "Hide links below": "Linien ausblenden unter",
  "No link is stronger than the threshold.": "Keine Linie ist stärker als die Schwelle.",
  "Strongest links of {0}: {1}.": "Stärkste Linien von {0}: {1}.",
  "Strongest links to {0}: {1}.": "Stärkste Linien zu {0}: {1}.",
  "Strongest links: {0}.": "Stärkste Linien: {0}.",
  "from {0} to {1} {2} ({3})": "von {0} zu {1} {2} ({3})",
  "from {0} {1} ({2})": "von {0} {1} ({2})",
  "to {0} {1} ({2})": "zu {0} {1} ({2})",
  "Each square is one cell.": "Jedes Quadrat ist eine Zelle.",
  "Each rectangle is the strongest of {0} × {1} cells (queries × keys).":
    "Jedes Rechteck ist die stärkste von {0} × {1} Zellen (Anfragen × Schlüssel).",
  // ——— end of maps

  // ——— lectures

  "The vector moves": "Der Vektor bewegt sich",
  "Places tell equal words apart": "Stellen unterscheiden gleiche Wörter",
  "Your own sentence": "Dein eigener Satz",
  Lecture: "Vorlesung",
  Lectures: "Vorlesungen",
  "{0}, {1} of {2}": "{0}, {1} von {2}",
  "Full screen": "Ganzer Bildschirm",
  "Leave full screen": "Bildschirm verlassen",
  "Handout to print": "Handout zum Drucken",
  "Leave the lecture": "Vorlesung verlassen",
  "Show the answer": "Antwort zeigen",
  "← Back": "← Zurück",
  "Next lecture: {0}": "Nächste Vorlesung: {0}",
  "There is no stop “{0}” of a lecture here. A list of one’s own is kept by the browser that made it.":
    "Eine Stelle „{0}“ einer Vorlesung gibt es hier nicht. Eine eigene Liste liegt in dem Browser, der sie angelegt hat.",
  "Drawing: figure {0} of {1}": "Wird gezeichnet: Bild {0} von {1}",
  Handout: "Handout",
  Print: "Drucken",
  "With the answers, on the last page": "Mit den Antworten, auf der letzten Seite",
  "This figure could not be drawn.": "Dieses Bild ließ sich nicht zeichnen.",
  Answers: "Antworten",
  "Teach with this lab": "Mit diesem Lab unterrichten",
  "Figures in the order of a lecture, with a question each whose answer is hidden. → shows the answer, then the next figure. “Full screen” has large type; a handout prints.":
    "Bilder in der Reihenfolge einer Vorlesung, jedes mit einer Frage, deren Antwort verdeckt ist. → zeigt die Antwort, dann das nächste Bild. „Ganzer Bildschirm“ hat große Schrift; ein Handout lässt sich drucken.",
  "Add what is shown now": "Hinzufügen, was jetzt zu sehen ist",
  "All figures": "Alle Bilder",
  "Move “{0}” up": "„{0}“ nach oben",
  "Remove “{0}”": "„{0}“ entfernen",
  "Nothing yet. It is kept in this browser.": "Noch nichts. Sie bleibt in diesem Browser.",
  "This browser does not store your list. It holds until this page is closed.":
    "Dieser Browser speichert deine Liste nicht. Sie gilt, bis diese Seite geschlossen wird.",
  "Your own list": "Deine eigene Liste",
  "{0} figure": "{0} Bild",
  "{0} figures": "{0} Bilder",
  "What attention does to a word": "Was Aufmerksamkeit mit einem Wort macht",
  "A model cannot read. A table gives it a vector for each word, the same wherever the word stands, and a second vector is added for the place.":
    "Ein Modell kann nicht lesen. Eine Tabelle gibt ihm für jedes Wort einen Vektor, denselben, wo immer das Wort steht; ein zweiter Vektor kommt für die Stelle hinzu.",
  "“park” stands twice in this sentence. In what do the two differ before attention?":
    "„park“ steht in diesem Satz zweimal. Worin unterscheiden sich die beiden vor der Aufmerksamkeit?",
  "In the vector that was added for the place, and in nothing else.":
    "In dem Vektor, der für die Stelle hinzukam, und in nichts sonst.",
  "A word asks with its query, and every word answers with its key. A score is the product of the two: their lengths, and the cosine of the angle between them.":
    "Ein Wort fragt mit seiner Anfrage, und jedes Wort antwortet mit seinem Schlüssel. Ein Score ist das Produkt der beiden: ihre Längen und der Kosinus des Winkels dazwischen.",
  "Which scores are high, which are 0, and which are below 0?":
    "Welche Scores sind hoch, welche sind 0, und welche liegen unter 0?",
  "High: the two point the same way. 0: they have a right angle. Below 0: they point away from each other.":
    "Hoch: Beide zeigen in dieselbe Richtung. 0: Sie stehen im rechten Winkel. Unter 0: Sie zeigen voneinander weg.",
  "Softmax makes weights of the scores of a query: all are above 0, and together they are 1.":
    "Softmax macht aus den Scores einer Anfrage Gewichte: Alle liegen über 0, und zusammen sind sie 1.",
  "Every score of a query grows by 5. What becomes of the weights?":
    "Jeder Score einer Anfrage wächst um 5. Was wird aus den Gewichten?",
  "Nothing: softmax knows only differences. That is why programs subtract the largest score first, so that no power is too large.":
    "Nichts ändert sich: Softmax kennt nur Unterschiede. Darum ziehen Programme zuerst den größten Score ab, damit keine Potenz zu groß wird.",
  "Each word has a third vector, its value. The output of a head is the sum of all values, each times its weight.":
    "Jedes Wort hat einen dritten Vektor, seinen Wert. Die Ausgabe eines Kopfes ist die Summe aller Werte, jeder mal sein Gewicht.",
  "Which of query, key and value decides how much arrives of a word, and which decides what arrives?":
    "Wer von Anfrage, Schlüssel und Wert entscheidet, wie viel von einem Wort ankommt, und wer, was ankommt?",
  "Query and key decide how much. The value decides what.":
    "Anfrage und Schlüssel entscheiden, wie viel. Der Wert entscheidet, was.",
  "What was mixed is added to the word: its vector moves. The word is still there, with something from its neighbours.":
    "Was gemischt wurde, kommt zum Wort hinzu: Sein Vektor bewegt sich. Das Wort ist noch da, mit etwas von seinen Nachbarn.",
  "Both times the word is “park”. Why do the two move to different places?":
    "Beide Male heißt das Wort „park“. Warum bewegen sich die beiden an verschiedene Orte?",
  "They began in different places of the sentence. So their queries and keys differ, and so do their weights: each takes something else from the others.":
    "Sie stehen an verschiedenen Stellen des Satzes. Also unterscheiden sich ihre Anfragen und Schlüssel und damit ihre Gewichte: Jedes nimmt etwas anderes von den übrigen.",
  "Several heads do this side by side, each with queries, keys and values of its own. Their parts add up to the move of the word.":
    "Mehrere Köpfe tun das nebeneinander, jeder mit eigenen Anfragen, Schlüsseln und Werten. Ihre Teile ergeben zusammen die Bewegung des Wortes.",
  "Why are several small heads better than one large head?": "Warum sind mehrere kleine Köpfe besser als ein großer?",
  "The weights of a head sum to 1, so what it gives to one word it takes from another. Several heads can look at several things at once.":
    "Die Gewichte eines Kopfes ergeben 1: Was er einem Wort gibt, nimmt er einem anderen. Mehrere Köpfe können auf Mehreres zugleich schauen.",
  "Here the same sentence is read without the vectors for places.":
    "Hier wird derselbe Satz ohne die Vektoren für Stellen gelesen.",
  "The words come in another order, without places. What changes in the output?":
    "Die Wörter kommen in anderer Reihenfolge, ohne Stellen. Was ändert sich an der Ausgabe?",
  "Only the order of its rows. Without places attention sees a bag of words, and two equal words get the same output.":
    "Nur die Reihenfolge ihrer Zeilen. Ohne Stellen sieht die Aufmerksamkeit einen Beutel voller Wörter, und zwei gleiche Wörter bekommen dieselbe Ausgabe.",
  "A trained model reads sentences with eight heads. Write one of yours, and look for what each head does in it.":
    "Ein trainiertes Modell liest Sätze mit acht Köpfen. Schreib einen eigenen, und such, was jeder Kopf darin tut.",
  "Which heads look at the word before, at the first word, or at the word itself, whatever you write?":
    "Welche Köpfe schauen auf das Wort davor, auf das erste oder auf das Wort selbst, was immer du schreibst?",
  "The table of habits says it, with the share of the weight. A head whose habit stays in every sentence looks at places more than at words.":
    "Die Tabelle der Gewohnheiten sagt es, mit dem Anteil des Gewichts. Ein Kopf, dessen Gewohnheit in jedem Satz bleibt, schaut mehr auf Stellen als auf Wörter.",
  "Attention in matrices": "Aufmerksamkeit in Matrizen",
  "Five matrices": "Fünf Matrizen",
  "X has a row for each word. Three products with weights give queries, keys and values. QKᵀ are the scores, softmax goes along their rows, and A·V is the output of a head.":
    "X hat eine Zeile für jedes Wort. Drei Produkte mit Gewichten ergeben Anfragen, Schlüssel und Werte. QKᵀ sind die Scores, Softmax geht an ihren Zeilen entlang, und A·V ist die Ausgabe eines Kopfes.",
  "Which sizes has the matrix of scores, and which size is not in it any more?":
    "Welche Größen hat die Matrix der Scores, und welche kommt darin nicht mehr vor?",
  "A row for each query and a column for each key. The number of features of a head is summed away.":
    "Eine Zeile für jede Anfrage und eine Spalte für jeden Schlüssel. Über die Merkmale eines Kopfes wird summiert: Ihre Zahl kommt nicht mehr vor.",
  "A product is a mixture of rows": "Ein Produkt ist eine Mischung von Zeilen",
  "A product can be read in two ways: each number is the similarity of two vectors, or each row is a mixture of rows.":
    "Ein Produkt lässt sich auf zwei Arten lesen: Jede Zahl ist die Ähnlichkeit zweier Vektoren, oder jede Zeile ist eine Mischung von Zeilen.",
  "Read A·V by rows. What is one row of it?": "Lies A·V nach Zeilen. Was ist eine Zeile davon?",
  "A mixture of the rows of V. The shares are one row of A, and they sum to 1.":
    "Eine Mischung der Zeilen von V. Die Anteile sind eine Zeile von A, und sie ergeben 1.",
  "Asking is not answering": "Fragen ist nicht Antworten",
  "Here queries and keys are made by the same weights.":
    "Hier entstehen Anfragen und Schlüssel durch dieselben Gewichte.",
  "What is then true of every pair of words, and why is that too little for a language?":
    "Was gilt dann für jedes Paar von Wörtern, und warum ist das zu wenig für eine Sprache?",
  "Both have the same score for each other. But “it” must find its noun, and the noun need not look for “it”. Two projections let the scores differ.":
    "Beide haben füreinander denselben Score. Doch „it“ muss sein Nomen finden, und das Nomen braucht „it“ nicht zu suchen. Zwei Projektionen lassen die Scores verschieden sein.",
  "A score is a sum of D products. With random vectors its variance is D. The division by √D makes it 1 again.":
    "Ein Score ist eine Summe von D Produkten. Bei zufälligen Vektoren ist seine Varianz D. Die Division durch √D macht sie wieder zu 1.",
  "What does softmax do to scores that are spread widely?": "Was macht Softmax mit Scores, die weit gestreut sind?",
  "It gives nearly all weight to one key. The other words do not arrive, and the gradient is nearly 0.":
    "Fast alles Gewicht bekommt ein Schlüssel. Die anderen Wörter kommen nicht an, und der Gradient ist fast 0.",
  "Rows of Q, K and V are made of one word each. Only A·V brings words together.":
    "Zeilen von Q, K und V entstehen aus je einem Wort. Erst A·V bringt Wörter zusammen.",
  "All words ask the same question. What does each of them get?":
    "Alle Wörter stellen dieselbe Frage. Was bekommt jedes?",
  "All get the same row: the same weights, and so the same mixture. Each word needs its own question.":
    "Alle bekommen dieselbe Zeile: dieselben Gewichte und so dieselbe Mischung. Jedes Wort braucht seine eigene Frage.",
  "Heads divide the features": "Köpfe teilen die Merkmale",
  "Heads cut the features into bins, look by themselves, and are joined again. One more product mixes what they found.":
    "Köpfe teilen die Merkmale in Fächer, schauen jeder für sich und werden wieder verbunden. Ein weiteres Produkt mischt, was sie fanden.",
  "The width of the model stays, and there are twice as many heads. How much more work is that?":
    "Die Breite des Modells bleibt, und es gibt doppelt so viele Köpfe. Wie viel mehr Arbeit ist das?",
  "About none in the products: each head is half as wide. But there are twice as many matrices of weights.":
    "In den Produkten kaum mehr: Jeder Kopf ist halb so breit. Doch es gibt doppelt so viele Matrizen von Gewichten.",
  "Only the distance": "Nur der Abstand",
  "Places can be learned rows, waves, or rotations. Rotations turn queries and keys before they meet.":
    "Stellen können gelernte Zeilen, Wellen oder Drehungen sein. Drehungen drehen Anfragen und Schlüssel, bevor sie sich treffen.",
  "The whole text moves 20 places on. Why do all weights stay with rotations, and not with rows that are added?":
    "Der ganze Text rückt um 20 Stellen weiter. Warum bleiben alle Gewichte bei Drehungen, und bei addierten Zeilen nicht?",
  "Both turn on by the same angle, so the angle between them stays. A row that is added is another one in another place.":
    "Beide drehen sich um denselben Winkel weiter, also bleibt der Winkel dazwischen. Eine addierte Zeile ist an einer anderen Stelle eine andere.",
  "Who may look at whom": "Wer wen sehen darf",
  "A text that is being written must not look ahead: each word sees itself and what stands before.":
    "Ein Text, der gerade entsteht, darf nicht vorausschauen: Jedes Wort sieht sich und was davor steht.",
  "There are 24 words. How many of the 24 · 24 pairs are left?":
    "Es sind 24 Wörter. Wie viele der 24 · 24 Paare bleiben?",
  "24 · 25 / 2 = 300. Nearly half of the work need not be done.":
    "24 · 25 / 2 = 300. Fast die Hälfte der Arbeit entfällt.",
  "Tile by tile": "Kachel für Kachel",
  "Long texts have too many scores to keep them. The matrix is computed in tiles, and each row remembers little.":
    "Lange Texte haben zu viele Scores, um sie zu behalten. Die Matrix wird in Kacheln berechnet, und jede Zeile merkt sich wenig.",
  "Softmax needs the sum of a whole row. What must a row remember, so that it never needs all scores at once?":
    "Softmax braucht die Summe einer ganzen Zeile. Was muss eine Zeile sich merken, damit sie nie alle Scores zugleich braucht?",
  "The largest score so far, the sum so far, and the output so far. When a larger score comes, the other two are made smaller by the same factor.":
    "Den bisher größten Score, die bisherige Summe und die bisherige Ausgabe. Kommt ein größerer Score, werden die anderen beiden um denselben Faktor kleiner.",
  "Models that write": "Modelle, die schreiben",
  "The next word": "Das nächste Wort",
  "A decoder gives every word of its table a chance to come next. One is drawn, put at the end, and all begins again.":
    "Ein Decoder gibt jedem Wort seiner Tabelle eine Chance, als nächstes zu kommen. Eines wird gezogen und angehängt, und alles beginnt von vorn.",
  "What comes with temperature 0, and what with temperature 2?":
    "Was kommt bei Temperatur 0, und was bei Temperatur 2?",
  "With 0 always the word with the highest chance: the same text each time. With 2 the chances are more even: the text has more surprises, and more errors.":
    "Bei 0 immer das Wort mit der höchsten Chance: jedes Mal derselbe Text. Bei 2 sind die Chancen gleichmäßiger: Der Text hat mehr Überraschungen und mehr Fehler.",
  "What a cache keeps": "Was ein Cache behält",
  "A new word asks all words before it. Their keys and values are kept, so that nothing is computed twice.":
    "Ein neues Wort fragt alle Wörter davor. Ihre Schlüssel und Werte werden behalten, damit nichts zweimal berechnet wird.",
  "Why are no queries kept?": "Warum werden keine Anfragen behalten?",
  "A query is used once, when its word is new. Later words ask with queries of their own, and the old word only answers.":
    "Eine Anfrage wird einmal gebraucht, wenn ihr Wort neu ist. Spätere Wörter fragen mit eigenen Anfragen, und das alte Wort antwortet nur noch.",
  "An endless text": "Ein endloser Text",
  "The memory is full. The oldest words must go, but the first ones are kept.":
    "Der Speicher ist voll. Die ältesten Wörter müssen gehen, doch die ersten bleiben.",
  "Why may a model become worse when its very first words are dropped?":
    "Warum kann ein Modell schlechter werden, wenn seine allerersten Wörter verschwinden?",
  "Weights sum to 1, so a head with nothing to look for must look somewhere. Many heads learn to look at the first words then. Without them that weight falls on words that matter.":
    "Gewichte ergeben 1, also muss ein Kopf, der nichts sucht, irgendwohin schauen. Viele Köpfe lernen, dann auf die ersten Wörter zu schauen. Ohne sie fällt dieses Gewicht auf Wörter, die zählen.",
  "Heads that learn to copy": "Köpfe, die kopieren lernen",
  "Two layers learn to repeat what they have read. A head of layer 1 begins to look at the word before. Then a head of layer 2 finds what followed last time.":
    "Zwei Schichten lernen zu wiederholen, was sie gelesen haben. Ein Kopf von Schicht 1 beginnt, auf das Wort davor zu schauen. Dann findet ein Kopf von Schicht 2, was beim letzten Mal folgte.",
  "Why can one layer alone not do this?": "Warum kann das eine Schicht allein nicht?",
  "It must find the place whose word before is the current word. A place knows the word before only when a layer has written it there.":
    "Sie muss die Stelle finden, vor der das jetzige Wort stand. Eine Stelle kennt das Wort davor erst, wenn eine Schicht es dorthin geschrieben hat.",
  "A head that is not missed": "Ein Kopf, der nicht fehlt",
  "A whole model, head by head. Each head that has a habit has its name.":
    "Ein ganzes Modell, Kopf für Kopf. Jeder Kopf mit einer Gewohnheit trägt ihren Namen.",
  "One head is switched off, and nothing becomes worse. Does it do nothing?":
    "Ein Kopf wird abgeschaltet, und nichts wird schlechter. Tut er nichts?",
  "Not for sure: another head may do the same. Switch off both, one after the other.":
    "Das ist nicht sicher: Ein anderer Kopf kann dasselbe tun. Schalte beide ab, einen nach dem anderen.",
  "Weights are not the whole explanation": "Gewichte sind nicht die ganze Erklärung",
  "A large weight says that much of a value arrives. It does not say what that value is, nor what the other heads and layers make of it.":
    "Ein großes Gewicht sagt, dass viel von einem Wert ankommt. Es sagt nicht, was dieser Wert ist, und nicht, was die anderen Köpfe und Schichten daraus machen.",
  "How can you find out whether a word is the reason for an output?":
    "Wie findet man heraus, ob ein Wort der Grund für eine Ausgabe ist?",
  "Change something and look again: hide the word, swap it for another one, or switch the head off. If the output stays, the weight was not the reason.":
    "Ändere etwas, und schau noch einmal: Verdecke das Wort, tausche es, oder schalte den Kopf ab. Bleibt die Ausgabe, war das Gewicht nicht der Grund.",
};
