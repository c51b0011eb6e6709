import { loadProgram } from "./program.mjs";

const COMPUTE_SECONDS = 0.004;
const READ_SECONDS = 0.008;

/** Opens the probes of this variant, on as many threads as the engine has. A rate is the best one measured. */
export async function openRoofline(options) {
  const program = await loadProgram(`roofline.${options.variant}`, options);
  const best = (forms, rate) => Math.max(...Array.from({ length: forms }, (_, form) => rate(form)));
  return {
    /** Watches the machine during a case that touches this many bytes. */
    watch(bytes) {
      let compute = 0;
      let read = 0;
      return {
        look() {
          compute = Math.max(
            compute,
            best(program._compute_forms(), (f) => program._compute_rate(f, COMPUTE_SECONDS)),
          );
          read = Math.max(
            read,
            best(program._read_forms(), (f) => program._read_rate(f, bytes, READ_SECONDS)),
          );
        },
        /** Operations and bytes per second. */
        rates: () => ({ compute, read }),
      };
    },
  };
}
