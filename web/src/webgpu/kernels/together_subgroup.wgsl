// Sum and maximum over TOGETHER (4, 8 or 16) neighbouring invocations of a subgroup. All of them must be active.

fn sum_together(x: f32) -> f32 {
  var sum = x + subgroupShuffleXor(x, 1u);
  sum += subgroupShuffleXor(sum, 2u);
  if (TOGETHER >= 8u) { sum += subgroupShuffleXor(sum, 4u); }
  if (TOGETHER >= 16u) { sum += subgroupShuffleXor(sum, 8u); }
  return sum;
}

fn max_together(x: f32) -> f32 {
  var most = max(x, subgroupShuffleXor(x, 1u));
  most = max(most, subgroupShuffleXor(most, 2u));
  if (TOGETHER >= 8u) { most = max(most, subgroupShuffleXor(most, 4u)); }
  if (TOGETHER >= 16u) { most = max(most, subgroupShuffleXor(most, 8u)); }
  return most;
}
