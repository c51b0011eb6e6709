/** The words of the stories, by what they can stand for. */

export const WOMEN = ["Anna", "Clara", "Emma", "Grace", "Ida", "Kate", "Lena", "Mary", "Nora", "Rosa"] as const;
export const MEN = ["Adam", "Ben", "David", "Felix", "Hugo", "Jack", "Leo", "Noah", "Paul", "Tom"] as const;
export const COLOURS = ["red", "blue", "green", "yellow", "white", "black", "brown", "grey"] as const;
export const SINGLE_THINGS = ["ball", "book", "coat", "cup", "drum", "hat", "kite", "lamp", "ring", "scarf"] as const;
export const PAIRED_THINGS = ["boots", "gloves", "shoes", "skates", "socks"] as const;
export const PLACES = ["beach", "church", "farm", "garden", "library", "market", "park", "river", "school", "station"] as const; // oxfmt-ignore
export const HIDEOUTS = ["bed", "bench", "chair", "stairs", "stone", "table", "tree"] as const;
export const GOODS = ["bread", "butter", "cheese", "flour", "honey", "milk", "oil", "rice", "salt", "sugar", "tea"] as const; // oxfmt-ignore
export const SOUNDS = ["sun", "moon", "star", "rain", "wind", "snow", "fire", "sand", "leaf", "bird", "cloud"] as const;
export const ANIMALS = ["cat", "dog", "goat", "horse", "rabbit"] as const;
export const PETS = ["Bella", "Coco", "Luna", "Max", "Milo", "Nero", "Pip", "Rex"] as const;
export const TELLERS = ["mother", "father", "teacher", "farmer"] as const;
export const NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"] as const;
export const COUNTED = ["apples", "cakes", "eggs", "nuts", "pears", "plums"] as const;
