// How often the loops of a listing run. Their counters are run as the instructions say, for a wave with one active
// lane, number 0: it has the most work wherever lanes share work. What the listing does not say is unknown.

/** A loop with a constant bound runs less often than this. */
const MOST_PASSES = 1 << 10;

/**
 * Adds to each loop `passes` and `exit`: instructions up to `exit` run once more than `passes`. `passes` is undefined
 * if no constant bounds the loop. A loop whose bound changes with the passes of an outer one is counted in the first.
 */
export function countTrips({ instructions, labels }, loops) {
  new Wave(instructions.map(decode), labels).walk(0, instructions.length, loops);
  return loops;
}

class Wave {
  #instructions;
  #labels;
  /** The registers whose numbers are known. */
  #numbers = new Map([
    ["exec_lo", 1],
    ["exec_hi", 0],
    ["v0", 0],
  ]);

  constructor(instructions, labels) {
    this.#instructions = instructions;
    this.#labels = labels;
  }

  /** Goes through instructions [begin, end) once, in the order of the text. */
  walk(begin, end, loops) {
    for (let at = begin; at < end; at++) {
      const loop = loops.find((each) => each.begin === at);
      if (!loop) this.#step(this.#instructions[at]);
      else {
        const before = new Map(this.#numbers);
        Object.assign(loop, this.#passesOf(loop));
        this.#numbers = before;
        this.walk(loop.begin, loop.end, loop.children);
        this.#forgetWritten(loop);
        at = loop.end - 1;
      }
    }
  }

  #passesOf({ begin, end, children }) {
    for (let passes = 0; passes < MOST_PASSES; passes++) {
      for (let at = begin; at < end; at++) {
        const child = children.find((each) => each.begin === at);
        const instruction = this.#instructions[at];
        if (child) {
          this.#forgetWritten(child);
          at = child.end - 1;
        } else if (instruction.target === undefined) this.#step(instruction);
        else {
          const to = this.#labels.get(instruction.target);
          const leaves = to < begin || to >= end;
          const taken = this.#isTaken(instruction);
          if (leaves && taken && instruction.condition) return { passes, exit: at };
          if (to === begin && at === end - 1 && taken === false) return { passes: passes + 1, exit: -1 };
          if (taken && !leaves && to <= at) break;
          if (taken && !leaves) at = to - 1;
        }
      }
    }
    return { passes: undefined, exit: undefined };
  }

  /** Whether a branch is taken; undefined if that is not known. */
  #isTaken({ condition }) {
    if (!condition) return true;
    const isZero = this.#areZero(condition.registers.map((name) => this.#numbers.get(name)));
    return isZero === undefined ? undefined : isZero === condition.whenZero;
  }

  #areZero(numbers) {
    if (numbers.some((number) => number !== undefined && number !== 0)) return false;
    return numbers.includes(undefined) ? undefined : true;
  }

  #forgetWritten({ begin, end }) {
    for (let at = begin; at < end; at++) for (const name of this.#instructions[at].written) this.#numbers.delete(name);
    this.#activate();
  }

  /** Assumes that the lane takes part in what follows. */
  #activate() {
    this.#numbers.set("exec_lo", 1).set("exec_hi", 0);
  }

  #set(register, number) {
    if (number === undefined) this.#numbers.delete(register);
    else this.#numbers.set(register, number >>> 0);
  }

  #read = ({ constant, registers }, half) => (constant ? constant[half] : this.#numbers.get(registers[half]));

  #step({ name, written, inputs, relation, calculate, isLogic }) {
    if (relation) return this.#compare(written, inputs, relation);
    if (name === "v_swap_b32") return this.#swap(inputs);
    const results = written.map((register, half) => {
      if (register === "scc" || !calculate) return undefined;
      const numbers = inputs.map((input) => this.#read(input, half));
      return numbers.includes(undefined) ? undefined : calculate(numbers, name);
    });
    for (const [n, register] of written.entries()) this.#set(register, results[n]);
    if (isLogic) {
      const isZero = this.#areZero(
        results.slice(0, -1).map((number) => (number === undefined ? number : number >>> 0)),
      );
      this.#set("scc", isZero === undefined ? undefined : Number(!isZero));
    }
    if (written.includes("exec_lo")) this.#activate();
  }

  #compare(written, inputs, { holds, isSigned }) {
    const [a, b] = inputs.map((input) => this.#read(input, 0)).map((n) => (isSigned && n !== undefined ? n | 0 : n));
    const result = a === undefined || b === undefined ? undefined : Number(holds(a, b));
    for (const [n, register] of written.entries()) this.#set(register, n === 0 ? result : 0);
  }

  #swap([a, b]) {
    const [first, second] = [this.#read(a, 0), this.#read(b, 0)];
    this.#set(a.registers[0], second);
    this.#set(b.registers[0], first);
  }
}

/** Everything of an instruction that the wave needs. `written` ends with scc where the instruction sets it. */
function decode({ op, operands, target }) {
  const name = op.replace(/_e(32|64)$/, "");
  const isLogic = /^s_(and|or|xor|andn2|and_not1|orn2|or_not1|not)(_saveexec)?_b/.test(name);
  const [, kind, relation, type] = /^(s_cmpk?|v_cmpx?)_(\w+)_([ui])(?:16|32)$/.exec(name) ?? [];
  const reads = /^(s_cmp|v_cmpx|s_addk|s_mulk|v_swap)/.test(name) ? operands : operands.slice(1);
  return {
    name,
    isLogic,
    target,
    condition: conditionOf(name),
    inputs: [...reads, ...(/cselect/.test(name) ? ["src_scc"] : [])].map(inputOf),
    written: [...writtenBy(name, operands), ...(isLogic || SETS_SCC.test(name) ? ["scc"] : [])],
    relation: kind && relation in RELATIONS ? { holds: RELATIONS[relation], isSigned: type === "i" } : undefined,
    calculate: CALCULATIONS.find(([pattern]) => pattern.test(name))?.[1],
  };
}

function conditionOf(name) {
  const [, register, when] = /^s_cbranch_(scc|vcc|exec)(0|1|z|nz)$/.exec(name) ?? [];
  return register && { registers: registersOf(register), whenZero: when === "0" || when === "z" };
}

/** An operand that is read: a number in two words, the lower first, or registers. */
function inputOf(operand) {
  if (!/^(-?\d+|0x[0-9a-f]+)$/.test(operand)) return { registers: registersOf(operand) };
  return { constant: [Number(operand) >>> 0, operand.startsWith("-") ? 0xffffffff : 0] };
}

/** The registers of an operand: one, two of a mask, or a range as in s[4:7]. */
function registersOf(operand) {
  if (operand === "scc" || operand === "src_scc") return ["scc"];
  if (operand === "exec" || operand === "vcc") return [`${operand}_lo`, `${operand}_hi`];
  const [, kind, first, last] = /^([sv])\[?(\d+)(?::(\d+))?\]?$/.exec(operand) ?? [];
  if (kind === undefined) return /^(exec|vcc)_(lo|hi)$/.test(operand) ? [operand] : [];
  return Array.from({ length: Number(last ?? first) - Number(first) + 1 }, (_, n) => `${kind}${Number(first) + n}`);
}

function writtenBy(name, operands) {
  if (operands.length === 0 || /store|ds_write|^s_(cbranch|branch|waitcnt|barrier)/.test(name)) return [];
  if (/^s_(cmp|bitcmp)/.test(name)) return ["scc"];
  if (name.startsWith("v_cmpx")) return registersOf("exec");
  const results = operands.slice(0, /^v_(swap|div_scale|.*_co_)/.test(name) ? 2 : 1);
  return [...results, ...(name.includes("saveexec") ? ["exec"] : [])].flatMap(registersOf);
}

/** Other scalar instructions that set scc; what they set is unknown. */
const SETS_SCC = /^s_(add|sub|lshl|lshr|ashr|min|max|bfe|absdiff|bcnt|wqm|ff|flbit|quadmask)/;

const RELATIONS = {
  eq: (a, b) => a === b,
  lg: (a, b) => a !== b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

/** What instructions calculate, in each word of 32 bits. Other instructions have unknown results. */
const CALCULATIONS = [
  [/^(s_mov_b32|s_mov_b64|s_movk_i32|v_mov_b32)$/, ([a]) => a],
  [
    /^(s_add_[iu]32|s_addk_i32|v_add_nc_[iu]32|v_mbcnt_(lo|hi)_u32_b32)$/,
    ([a, b], name) => (/mbcnt/.test(name) ? b : a + b),
  ],
  [/^(s_sub_[iu]32|v_sub_nc_[iu]32)$/, ([a, b]) => a - b],
  [/^v_subrev_nc_u32$/, ([a, b]) => b - a],
  [/^(s_mul_i32|s_mulk_i32|v_mul_u32_u24|v_mul_lo_u32)$/, ([a, b]) => Math.imul(a, b)],
  [/^s_lshl_b32$/, ([a, b]) => a << b],
  [/^s_lshr_b32$/, ([a, b]) => a >>> b],
  [/^v_lshlrev_b32$/, ([a, b]) => b << a],
  [/^v_lshrrev_b32$/, ([a, b]) => b >>> a],
  [/^v_bfe_u32$/, ([a, b, c]) => (a >>> b) & (2 ** c - 1)],
  [/^[sv]_and_b(32|64)$/, ([a, b]) => a & b],
  [/^[sv]_or_b(32|64)$/, ([a, b]) => a | b],
  [/^[sv]_xor_b(32|64)$/, ([a, b]) => a ^ b],
  [/^s_(andn2|and_not1)_b(32|64)$/, ([a, b]) => a & ~b],
  [/^s_(orn2|or_not1)_b(32|64)$/, ([a, b]) => a | ~b],
  [/^s_not_b(32|64)$/, ([a]) => ~a],
  [/^[sv]_min_u32$/, ([a, b]) => Math.min(a, b)],
  [/^[sv]_max_u32$/, ([a, b]) => Math.max(a, b)],
  [/^[sv]_min_i32$/, ([a, b]) => Math.min(a | 0, b | 0)],
  [/^[sv]_max_i32$/, ([a, b]) => Math.max(a | 0, b | 0)],
  [/^s_lshl[1-4]_add_u32$/, ([a, b], name) => (a << Number(name[6])) + b],
  [/^v_lshl_add_u32$/, ([a, b, c]) => (a << b) + c],
  [/^v_add_lshl_u32$/, ([a, b, c]) => (a + b) << c],
  [/^v_add3_u32$/, ([a, b, c]) => a + b + c],
  [/^v_and_or_b32$/, ([a, b, c]) => (a & b) | c],
  [/^v_lshl_or_b32$/, ([a, b, c]) => (a << b) | c],
  [/^s_cselect_b32$/, ([a, b, scc]) => (scc ? a : b)],
];
