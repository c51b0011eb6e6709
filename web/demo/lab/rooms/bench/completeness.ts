import { grouped, significant } from "../../shell/numbers.js";
import { keyOf, type BenchDevice, type BenchEngine, type BenchFile, type Place } from "./benchFile.js";
import { t } from "../../../texts/t.js";

/** The spread of fewer samples is not reliable. */
export const FEWEST_SAMPLES = 5;
/** If other programs use more than this share of the cores, the times are unreliable. */
const BUSY = 0.75;
/** How many names a sentence lists. */
const MOST_NAMES = 4;

/** What is missing in the files, or makes them hard to compare: sentences that name a file and a field. */
export function gaps(files: readonly BenchFile[]): string[] {
  return [
    ...files.flatMap((file) => [
      ...silent(file),
      ...reasons(file),
      ...few(file),
      ...busy(file),
      ...absentShapes(file, files),
      ...absentEngines(file, files),
    ]),
    ...versions(files),
    ...otherWork(files),
  ];
}

/** Shape × engine × device that is neither measured nor said to be missing. */
function silent({ name, document }: BenchFile): string[] {
  const { devices, engines, shapes, measurements, missing } = document;
  const known = new Set([...measurements, ...missing].map(keyOf));
  const places = devices.flatMap((device) =>
    engines.flatMap((engine) => shapes.map((shape): Place => ({ device: device.id, engine: engine.id, shape: shape.id }))),
  ); // oxfmt-ignore
  const without = places.filter((place) => !known.has(keyOf(place)));
  if (without.length === 0) return [];
  const { device, engine, shape } = without[0]!;
  return [t`${name}: measurements: ${without.length} of ${places.length} are neither measured nor in the list missing. The first one is “${shape}” with “${engine}” on “${device}”.`]; // oxfmt-ignore
}

function reasons({ name, document: { missing } }: BenchFile): string[] {
  if (missing.length === 0) return [];
  const told = [...new Set(missing.map(({ engine, reason }) => `${engine}: ${reason}`))];
  return [
    missing.length === 1
      ? t`${name}: missing: 1 time could not be measured. ${listed(told)}.`
      : t`${name}: missing: ${grouped(missing.length)} times could not be measured. ${listed(told)}.`,
  ];
}

function few({ name, document: { measurements } }: BenchFile): string[] {
  const short = measurements.filter(({ samples }) => samples.length < FEWEST_SAMPLES);
  if (short.length === 0) return [];
  const least = Math.min(...short.map(({ samples }) => samples.length));
  const all = grouped(measurements.length);
  return [
    measurements.length === 1
      ? t`${name}: samples: ${short.length} of 1 measurement have fewer than ${FEWEST_SAMPLES} samples (the fewest: ${least}). Their spread is not reliable.`
      : t`${name}: samples: ${short.length} of ${all} measurements have fewer than ${FEWEST_SAMPLES} samples (the fewest: ${least}). Their spread is not reliable.`,
  ];
}

function busy({ name, document: { devices } }: BenchFile): string[] {
  return devices
    .filter(isBusy)
    .map(({ id, load, cores }) =>
      cores === 1
        ? t`${name}: load: “${id}” was busy: a load of ${significant(load!)} on 1 core. Do not trust its times.`
        : t`${name}: load: “${id}” was busy: a load of ${significant(load!)} on ${grouped(cores!)} cores. Do not trust its times.`,
    );
}

/** Whether other programs used so much of a device that its times are not to be trusted. */
export function isBusy({ load = 0, cores = Infinity }: BenchDevice): boolean {
  return load > BUSY * cores;
}

function absentShapes(file: BenchFile, files: readonly BenchFile[]): string[] {
  const own = new Set(file.document.shapes.map(({ id }) => id));
  const absent = others(file, files, ({ shapes }) => shapes.map(({ id }) => id)).filter((id) => !own.has(id));
  if (absent.length === 0) return [];
  return [
    absent.length === 1
      ? t`${file.name}: shapes: 1 shape of other files is missing: ${listed(absent)}.`
      : t`${file.name}: shapes: ${grouped(absent.length)} shapes of other files are missing: ${listed(absent)}.`,
  ];
}

function absentEngines(file: BenchFile, files: readonly BenchFile[]): string[] {
  const own = new Set(file.document.engines.map(kind));
  const absent = others(file, files, ({ engines }) => engines.map(kind)).filter((name) => !own.has(name));
  if (absent.length === 0) return [];
  return [
    absent.length === 1
      ? t`${file.name}: engines: 1 engine of other files is missing: ${listed(absent)}.`
      : t`${file.name}: engines: ${grouped(absent.length)} engines of other files are missing: ${listed(absent)}.`,
  ];
}

/** An engine by what it is. Devices have different numbers of cores, so more than one thread counts as the same. */
function kind({ library, backend, variant, threads }: BenchEngine): string {
  const parts = [library, backend, variant, threads && (threads === 1 ? t`1 thread` : t`more threads`)];
  return parts.filter(Boolean).join(" · ");
}

function others(file: BenchFile, files: readonly BenchFile[], names: (document: BenchFile["document"]) => string[]) {
  return [...new Set(files.filter((other) => other !== file).flatMap(({ document }) => names(document)))];
}

function versions(files: readonly BenchFile[]): string[] {
  const uses = files.flatMap(({ name, document }) =>
    document.engines.map(({ library, version }) => ({ library, version, name })),
  );
  return [...new Set(uses.map(({ library }) => library))].flatMap((library) => {
    const found = new Map(uses.filter((use) => use.library === library).map(({ version, name }) => [version, name]));
    if (found.size < 2) return [];
    const told = [...found].map(([version, name]) => t`${version} in ${name}`);
    return [t`engines: version: ${library} has ${found.size} versions: ${listed(told)}. Their times are of different programs.`]; // oxfmt-ignore
  });
}

function otherWork(files: readonly BenchFile[]): string[] {
  const first = new Map<string, { name: string; work: string }>();
  const told: string[] = [];
  for (const { name, document } of files)
    for (const { id, operations, bytes } of document.shapes) {
      const work = t`${operations} operations and ${bytes} bytes`;
      const known = first.get(id);
      if (!known) first.set(id, { name, work });
      else if (known.work !== work)
        told.push(
          t`${name}: shapes: “${id}” has ${work}, in ${known.name} ${known.work}. They are shown as two shapes.`,
        );
    }
  return told;
}

function listed(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  const first = names.slice(0, MOST_NAMES).join("; ");
  return rest > 0 ? t`${first}; and ${rest} more` : first;
}
