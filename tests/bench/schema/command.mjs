// The command that a published file names.

/** Options whose value is a file of the person who measures, or a table. */
const FILES = ["--json", "--save", "--against", "--record"];

/** The command with its options, without those that say where figures go. */
export function commandOf(script, args) {
  const isFile = (arg) => FILES.some((option) => arg.startsWith(`${option}=`));
  const kept = args.filter((arg, n) => !FILES.includes(arg) && !FILES.includes(args[n - 1]) && !isFile(arg));
  const quoted = kept.map((arg) => (/^[\w.,=×/+-]+$/.test(arg) ? arg : JSON.stringify(arg)));
  return [`npm run ${script}`, ...(quoted.length > 0 ? ["--", ...quoted] : [])].join(" ");
}
