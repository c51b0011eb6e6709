/** How a sentence is written, and what it says. */
export interface Form {
  /**
   * Words and slots. `{A}` is the name of A, `{A.he}` the pronoun for A. `{X.the}` and `{X.new}` are "the red ball" and
   * "a red ball". `{L*good}` is a list with commas, `{S*sound}` one without. `?owner` marks a word that the story has
   * decided before, and what it is about; `!` marks one that nothing has decided.
   */
  readonly pattern: string;
  /** What must be true or becomes true: names of `World`'s methods with their roles. The first person is the subject. */
  readonly says: string;
}

const form = (pattern: string, says = ""): Form => ({ pattern, says });

/** All sentences that a story can have. */
export const FORMS = {
  live: form("{A} and {B} lived near the {P.place} .", "live A B P"),
  friends: form("{A} , {B} and {C} were friends .", "three A B C"),
  meet: form("one day {A} met {B} at the {P.place} .", "live A B P"),

  had: form("{A} had {X.new} .", "gets A X"),
  found: form("{A} found {X.new} .", "gets A X"),
  made: form("{A} got {X.new} .", "gets A X"),
  old: form("{X.the} of {A?owner} {X.was} old .", "owns A X"),
  fresh: form("{X.the} of {A?owner} {X.was} new .", "owns A X"),
  looksGood: form("{X.the} {X.looks} good .", "names X"),
  liked: form("{A} liked {X.it} .", "holds A X"),
  heLiked: form("{A.he} liked {X.it} very much .", "holds A X"),
  lovedOwn: form("{A} loved {A.his} {X.colour?colour} {X.noun?thing} .", "holds A X"),

  wants: form("{A} wanted to give {X.the?} to {B} .", "plans A X B"),
  soGave: form("so {A.he} gave {X.it} to {B?recipient} .", "gives A X B"),
  gaveHim: form("{A} gave {B.him} {X.the?} .", "gives A X B"),
  gave: form("{A} gave {X.the?} to {B} .", "gives A X B"),
  thanked: form("{B?recipient} thanked {A?owner} .", "thanks B A"),
  wasGlad: form("{B?recipient} was glad .", "gladly B"),
  nowHad: form("now {A} had {X.the?} .", "holds A X"),
  andHad: form("now {A} had {X.the?} and {B} had {Y.the?} .", "holds A X; holds B Y"),
  swapped: form("{A} gave {B.him} {X.the?} , and {B} gave {A.him} {Y.the?} .", "swaps A X B Y"),
  asksWho: form("the {T.role} asked : “ who has {X.the} ? ”", "names X"),
  saysHave: form("{A?owner} said : “ I have {X.it} . ”", "holds A X"),
  asksWhose: form("the {T.role} asked : “ whose {X.noun} {X.is} {X.this} ? ”", "names X"),
  asksColour: form("“ what colour {X.is!} the {X.noun} ? ” asked the {T.role} .", "names X"),
  saysColour: form("“ {X.they} {X.is} {X.colour?colour} , ” said {A} .", "knows A; names X"),
  belong: form("{X.the} {X.belongs} to {A?owner} .", "owns A X"),
  theyBelong: form("“ {X.they} {X.belongs} to {A?owner} , ” said {B} .", "knows B; owns A X"),

  lends: form("{A} lent {X.the?} to {B} .", "lends A X B"),
  needs: form("{A} wanted to have {X.it} back .", "owns A X"),
  soReturned: form("so {B} gave {X.it} back to {A?recipient} .", "returns B X A"),
  returned: form("the next day {B} gave {X.the?} back to {A?recipient} .", "returns B X A"),

  left: form("{A} left {X.the?} at the {P.place} .", "leaves A X P"),
  wentBack: form("{A.he} went back to the {P.place?place} and found {X.it} .", "finds A X P"),
  foundThere: form("{A} found {X.the?} at the {P.place?place} .", "finds A X P"),
  wasAt: form("{X.the} {X.was} at the {P.place?place} .", "lies X P"),

  puts: form("{A} put {X.the?} under the {U.under} .", "hides A X U"),
  asksWhere: form("the {T.role} asked : “ where {X.is!} {X.the} ? ”", "names X"),
  saysUnder: form("“ {X.they} {X.is} under the {U.under?place} , ” said {A} .", "knows A; under X U"),
  looked: form("{A} looked under the {U.under?place} and found {X.the} .", "takes A X U"),
  isUnder: form("{X.the} {X.was} under the {U.under?place} .", "under X U"),

  went: form("{A} went to the {P.place} , to the {Q.place} and to the {R.place} .", "travels A P Q R"),
  whereWere: form("“ where were you ? ” asked {B} .", "knows B"),
  iWas: form("“ I was at the {P.place?place} , at the {Q.place?place} and at the {R.place?place} , ” said {A?owner} .", "travelled A P Q R"), // oxfmt-ignore
  sameWay: form("{B} went to the {P.place?place} , to the {Q.place?place} and to the {R.place?place} too .", "follows B P Q R"), // oxfmt-ignore

  orders: form("{A} said to {B} : “ please buy {L*good} . ”", "orders A B L"),
  askShop: form("at the market {B?owner} said : “ {L*good?list} , please . ”", "shops B L"),
  bringsHome: form("{B?owner} came home with {L*good?list} .", "shops B L"),
  didYou: form("“ do you have {L*good?list} ? ” asked {A?recipient} .", "waits A L"),
  yes: form("“ yes , I have all , ” said {B?owner} .", "shopper B"),

  sang: form("{A} sang : “ {S*sound} . ”", "sings A S"),
  sangToo: form("{B} sang : “ {S*sound?list} . ”", "repeats B S"),
  together: form("then they sang : “ {S*sound?list} . ”", "sung S"),
  singerWas: form("it was the song of {A?owner} .", "singer A"),

  bothSome: form("{A} had {N.count} {I.items} , and {B} had {M.count} {J.items} .", "counts A N I; counts B M J"),
  foundMore: form("{A} found {M.count} more .", "adds A M"),
  nowSome: form("so {A.he} had {K.count?count} {I.items?thing} .", "hasNow A K I"),
  nowNamed: form("now {A} had {K.count?count} {I.items?thing} .", "counted A I; hasNow A K I"),
  ate: form("{A} ate {M.count} .", "eats A M"),
  howMany: form("the {T.role} asked {A} : “ how many {I.items?thing} do you have ? ”", "counted A I"),
  saysMany: form("“ I have {K.count?count} , ” said {A?owner} .", "tells A K"),

  keeps: form("{A} had a {D.kind} , and {B} had a {E.kind} .", "keeps A D; keeps B E"),
  called: form("the {D.kind} was called {D.pet} .", "christens D"),
  calledOf: form("the {D.kind} of {A?owner} was called {D.pet} .", "petOf A D; christens D"),
  ran: form("one day the {D.kind} ran to the {P.place} .", "runs D P"),
  calls: form("{A?owner} called : “ {D.pet?pet} , {D.pet?pet} ! ”", "petOf A D; cries D"),
  foundPet: form("{A.he} found {D.pet?pet} at the {P.place?place} .", "petOf A D; ran D P"),
  asksPet: form("the {T.role} asked : “ what is the name of the {D.kind} ? ”", "points D"),
  saysPet: form("“ {D.pet?pet} , ” said {A?owner} .", "petOf A D; cries D"),
} satisfies Record<string, Form>;

export type FormName = keyof typeof FORMS;
