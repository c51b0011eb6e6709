/** The type of an option, and `Absent` where the option may be undefined. */
export type OrAbsent<Option, Absent> = Option extends undefined ? Absent : Option;

/**
 * The type of a result: the parts of `All` that the option `returns` asked for are surely there. If TypeScript cannot
 * know whether it asked for a part, the part is optional.
 */
export type Asked<R, All> = All & {
  readonly [
    Part in keyof R & keyof All as [Extract<R[Part], false | undefined>] extends [never] ? Part : never
  ]-?: NonNullable<All[Part]>;
};
