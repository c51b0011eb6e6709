import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { UsageError } from "../../cli/options.js";

/** The text in a packed form, and the program that prints it. */
const PACKAGES = ["bible-kjv-text", "bible-kjv"];

export const SOURCE = "The King James text of the Bible (1611), public domain, from the Debian package bible-kjv-text";

/**
 * The chapters of the King James text, each verse a line. The text is kept in `folder`. If it is not there, its Debian
 * packages are downloaded and unpacked into it; nothing is installed.
 *
 * @throws UsageError if this machine has no apt.
 */
export function kingJames(folder: string): string[] {
  const kept = path.join(folder, "verses.txt");
  if (!existsSync(kept)) writeFileSync(kept, printed(folder));
  return chaptersOf(readFileSync(kept, "utf8"));
}

/** Lines such as "Ge1:1 In the beginning …", in the order of the books. */
function printed(folder: string): string {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync("apt-get", ["download", ...PACKAGES], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".deb")))
      execFileSync("dpkg-deb", ["-x", file, "."], { cwd: folder });
    const program = path.resolve(folder, "usr/bin/bible");
    const data = ["-p", path.resolve(folder, "usr/lib")];
    return execFileSync(program, [...data, "-f", "gen1:1-rev22:21"], { encoding: "utf8", maxBuffer: 2 ** 26 });
  } catch (cause) {
    throw new UsageError(
      `the King James text comes from Debian, by apt-get and dpkg-deb, and that failed here: ${(cause as Error).message}\n` +
        `On another system, write the output of \`bible -f 'gen1:1-rev22:21'\` (packages ${PACKAGES.join(" and ")})\n` +
        `to ${path.join(folder, "verses.txt")}, or give a text of your own: --text FILE`,
    );
  }
}

function chaptersOf(verses: string): string[] {
  const chapters = new Map<string, string[]>();
  for (const line of verses.split("\n")) {
    const [, chapter, verse] = /^(\w+?\d+):\d+ (.*)$/.exec(line) ?? [];
    if (chapter === undefined) continue;
    chapters.set(chapter, [...(chapters.get(chapter) ?? []), verse!]);
  }
  return [...chapters.values()].map((lines) => lines.join("\n"));
}
