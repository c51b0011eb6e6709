// The goals for NAVI21. A missed goal warns. GFX1100 only informs: one of its dual instructions counts as two. The
// kernel for every width and every device, "general", has no goals.

/** At least this share with at least so many waves; one pair is enough. */
const SHARES = {
  64: [
    { share: 0.75, waves: 2 },
    { share: 0.65, waves: 4 },
  ],
  128: [{ share: 0.6, waves: 1 }],
};
const PROJECTION = [{ share: 0.75, waves: 1 }];
const MOST_BARRIERS = 4;
const LEAST_PER_WORD = 3;

/** @returns {{ goal: string, isMet: boolean }[]} */
export function goalsOf({ kind, width, family, spilled, scratch, waves, barriers, perWord, useful }) {
  if (family !== "NAVI21" || kind === "general") return [];
  const shares = kind === "attention" ? SHARES[width] : PROJECTION;
  const named = ({ share, waves: least }) => `${100 * share}%${least > 1 ? ` at ${least} waves` : ""}`;
  return [
    { goal: "no spills, no scratch", isMet: spilled === 0 && scratch === 0 },
    ...(kind === "attention" ? [{ goal: `≤ ${MOST_BARRIERS} barriers`, isMet: barriers <= MOST_BARRIERS }] : []),
    { goal: `≥ ${LEAST_PER_WORD} multiply-adds per LDS word`, isMet: perWord >= LEAST_PER_WORD },
    {
      goal: `useful share ≥ ${shares.map(named).join(" or ")}`,
      isMet: shares.some(({ share, waves: least }) => useful >= share && waves >= least),
    },
  ];
}
