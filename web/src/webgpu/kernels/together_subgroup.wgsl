// Sum and maximum over TOGETHER (4 or 8) neighbouring invocations of a subgroup. All of them must be active.

fn sum_together(x: f32) -> f32 {
  var sum = x + subgroupShuffleXor(x, 1u);
  sum += subgroupShuffleXor(sum, 2u);
  if (TOGETHER == 8u) { sum += subgroupShuffleXor(sum, 4u); }
  return sum;
}

fn max_together(x: f32) -> f32 {
  var most = max(x, subgroupShuffleXor(x, 1u));
  most = max(most, subgroupShuffleXor(most, 2u));
  if (TOGETHER == 8u) { most = max(most, subgroupShuffleXor(most, 4u)); }
  return most;
}
