#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cases.h"
#include "formula_builder.h"
#include "fuzz_target.h"
#include "headwise/backward.h"

namespace headwise {

/// A formula that may have been forged.
struct FuzzedFormula {
  FormulaBuilder builder;
  std::vector<FormulaInstruction> instructions;
  Formula formula;
};

/// Makes a call of any bytes.
class CallDecoder {
 public:
  CallDecoder(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  cases::Case call() {
    cases::Case call;
    call.seed = bytes_.ConsumeIntegral<std::uint16_t>();
    call.shape = shape();
    call.dtype = flag() ? Dtype::float16 : Dtype::float32;
    scalars(call);
    arrays(call);
    lists(call);
    call.returns = returns(call.shape);
    return call;
  }

  /// Values that no arithmetic survives, in places of the fuzzer's choice; true if there are any.
  bool poison(cases::Case& call) {
    if (!rarely()) return false;
    cases::Array* const arrays[] = {&call.query, &call.key, &call.value};
    const double values[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()};
    for (int n = bytes_.ConsumeIntegralInRange(1, 4); n > 0; --n) {
      cases::Array& array = *bytes_.PickValueInArray(arrays);
      if (array.size() > 0) array.set(integer(0, array.size() - 1), bytes_.PickValueInArray(values));
    }
    return true;
  }

  /// Formulas in some calls: random ones, some of them with an instruction of the fuzzer's choice.
  void formulas(cases::Case& call, FuzzedFormula& score, FuzzedFormula& visible) {
    if (rarely()) call.scalars.score = formula(score, false);
    if (rarely()) call.scalars.visible = formula(visible, true);
  }

  /// Breaks the shape beyond what can be computed: the call must be refused before anything is touched.
  bool break_shape(AttentionShape& shape) {
    if (!rarely()) return false;
    std::int64_t* const extents[] = {&shape.batch_size, &shape.head_dim, &shape.value_dim};
    const std::int64_t huge[] = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
                                 std::int64_t{1} << 62, -1};
    *bytes_.PickValueInArray(extents) = bytes_.PickValueInArray(huge);
    return true;
  }

  /// The kernels that compute it. They are asked for last: old inputs of the corpus keep their meaning.
  const KernelTable& kernels() {
    const std::vector<const KernelTable*> tables = fuzzed_kernel_tables();
    return *tables[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(tables.size()) - 1))];
  }

  /// A derivative of the score formula. It need not be the true one: the rules of the sums are the same.
  void derivative(FuzzedFormula& fuzzed, std::vector<FormulaRead>& reads, ScoreDerivative& derivative) {
    derivative.formula = *formula(fuzzed, false);
    const auto instruction = [&] { return static_cast<std::int32_t>(integer(0, fuzzed.builder.size() - 1)); };
    for (std::int64_t n = integer(0, 2); n > 0; --n)
      reads.push_back({instruction(), instruction(), instruction(), static_cast<std::int32_t>(integer(1, 3)),
                       static_cast<std::int32_t>(integer(1, 5)), nullptr});
    derivative.reads = reads.data();
    derivative.num_reads = static_cast<std::int64_t>(reads.size());
  }

  bool rarely() { return bytes_.ConsumeIntegral<std::uint8_t>() < 16; }

 private:
  const Formula* formula(FuzzedFormula& fuzzed, bool visible) {
    build_random_formula(fuzzed.builder, bytes_.ConsumeIntegral<std::uint32_t>(), visible);
    const auto small = [&] { return static_cast<std::int32_t>(integer(-2, fuzzed.builder.size() + 1)); };
    if (visible && flag()) fuzzed.builder.bound({small() & 1, small(), small(), small(), small() & 1});
    fuzzed.formula = fuzzed.builder.formula();
    fuzzed.instructions.assign(fuzzed.formula.instructions,
                               fuzzed.formula.instructions + fuzzed.formula.num_instructions);
    if (flag())
      fuzzed.instructions[integer(0, fuzzed.formula.num_instructions - 1)] = {
          static_cast<FormulaOperation>(integer(-1, 31)), small(), small(), small()};
    fuzzed.formula.instructions = fuzzed.instructions.data();
    return &fuzzed.formula;
  }

  bool flag() { return bytes_.ConsumeBool(); }
  std::int64_t any() { return bytes_.ConsumeIntegral<std::int64_t>(); }
  std::int64_t integer(std::int64_t low, std::int64_t high) { return bytes_.ConsumeIntegralInRange(low, high); }

  /// Mostly small: a large call shows little that small ones do not, and takes as long as a hundred of them.
  AttentionShape shape() {
    AttentionShape shape;
    shape.batch_size = integer(0, 2);
    shape.num_kv_heads = integer(1, 2);
    shape.num_heads = shape.num_kv_heads * integer(0, 3);
    shape.query_length = integer(0, rarely() ? 70 : 6);
    shape.key_length = integer(0, rarely() ? 1100 : 24);
    shape.head_dim = integer(1, rarely() ? 20 : 9);
    shape.value_dim = integer(1, rarely() ? 20 : 9);
    if (shape.key_length > 100) shape.query_length = std::min<std::int64_t>(shape.query_length, 8);
    return shape;
  }

  void scalars(cases::Case& call) {
    AttentionOptions& options = call.scalars;
    options.layout = static_cast<Layout>(integer(0, 3));
    if (flag()) options.kv_layout = static_cast<Layout>(integer(0, 3));
    options.causal = static_cast<Causal>(integer(0, 2));
    options.empty_rows = static_cast<EmptyRows>(integer(0, 3));
    options.exclude_self = flag();
    if (flag()) options.scale = number();
    if (flag()) options.softcap = std::abs(number());
    if (flag()) options.window_left = integer(-1, 80);
    if (flag()) options.window_right = integer(-1, 80);
    if (rarely()) options.softcap = -1.0f;
    if (rarely()) options.window_left = any();
    if (rarely()) options.window_right = any();
  }

  float number() { return static_cast<float>(integer(-400, 400)) / 64.0f; }

  BroadcastExtents extents(const AttentionShape& shape) {
    const std::int64_t full[4] = {shape.batch_size, shape.num_heads, shape.query_length, shape.key_length};
    BroadcastExtents extents;
    for (int axis = 0; axis < 4; ++axis) extents.extent[axis] = flag() ? full[axis] : 1;
    return extents;
  }

  void arrays(cases::Case& call) {
    const AttentionShape& s = call.shape;
    const double amplitude = flag() ? 1.0 : 16.0;
    const std::int64_t query_rows = s.batch_size * s.num_heads * s.query_length;
    const std::int64_t key_rows = s.batch_size * s.num_kv_heads * s.key_length;
    call.query = cases::random_array(call.dtype, query_rows * s.head_dim, call.seed, 1, amplitude);
    call.key = cases::random_array(call.dtype, key_rows * s.head_dim, call.seed, 2);
    call.value = cases::random_array(call.dtype, key_rows * s.value_dim, call.seed, 3);
    if (flag()) {
      call.has_mask = true;
      call.mask_extents = extents(s);
      const std::uint32_t visible = bytes_.ConsumeIntegral<std::uint8_t>();
      call.mask.resize(product(call.mask_extents));
      for (std::size_t k = 0; k < call.mask.size(); ++k)
        call.mask[k] = (cases::word(call.seed, 4, static_cast<std::uint32_t>(k)) >> 24) <= visible;
    }
    if (flag()) {
      call.bias_extents = extents(s);
      call.bias =
          cases::random_array(flag() ? Dtype::float16 : Dtype::float32, product(call.bias_extents), call.seed, 5);
      const std::uint32_t hidden = bytes_.ConsumeIntegral<std::uint8_t>();
      for (std::int64_t k = 0; k < call.bias->size(); ++k)
        if ((cases::word(call.seed, 6, static_cast<std::uint32_t>(k)) >> 24) < hidden)
          call.bias->set(k, -std::numeric_limits<double>::infinity());
    }
  }

  static std::int64_t product(const BroadcastExtents& extents) {
    return extents.extent[0] * extents.extent[1] * extents.extent[2] * extents.extent[3];
  }

  std::vector<std::int32_t> integers(std::int64_t count, std::int64_t low, std::int64_t high) {
    std::vector<std::int32_t> list;
    for (std::int64_t n = 0; n < count; ++n) list.push_back(static_cast<std::int32_t>(integer(low, high)));
    return list;
  }

  std::vector<float> numbers(std::int64_t count) {
    std::vector<float> list;
    for (std::int64_t n = 0; n < count; ++n)
      list.push_back(rarely() ? -std::numeric_limits<float>::infinity() : rarely() ? 0.0f : number());
    return list;
  }

  /// Mostly ascending from 0 to `total`.
  std::vector<std::int32_t> starts(std::int64_t count, std::int64_t total) {
    std::vector<std::int32_t> list = integers(count - 1, 0, total);
    if (!rarely()) std::sort(list.begin(), list.end());
    list.insert(list.begin(), rarely() ? 1 : 0);
    list.push_back(static_cast<std::int32_t>(total));
    return list;
  }

  void lists(cases::Case& call) {
    const AttentionShape& s = call.shape;
    std::int64_t sequences = s.batch_size;
    if (s.batch_size == 1 && flag()) {
      sequences = integer(1, 5);
      call.cu_seq_lens_query = starts(sequences, s.query_length);
      call.cu_seq_lens_key = starts(sequences, s.key_length);
    }
    const std::int64_t slack = rarely() ? 1 : 0;  // a length just outside
    if (flag()) call.key_lengths = integers(s.batch_size, -slack, s.key_length + slack);
    if (flag()) call.query_lengths = integers(s.batch_size, -slack, s.query_length + slack);
    if (flag())
      call.query_offset = rarely() ? integers(sequences, std::numeric_limits<std::int32_t>::min(),
                                              std::numeric_limits<std::int32_t>::max())
                                   : integers(sequences, -90, 90);
    if (flag()) call.alibi_slopes = numbers(s.num_heads);
    if (flag()) call.sinks = numbers(s.num_heads);
    if (flag()) call.head_gain = numbers(s.num_heads);
  }

  cases::OwnedSelection selection(const AttentionShape& shape) {
    cases::OwnedSelection selection;
    const std::int64_t slack = rarely() ? 1 : 0;
    if (flag() && shape.num_heads > 0) selection.heads = integers(integer(1, 3), -slack, shape.num_heads - 1 + slack);
    if (flag() && shape.query_length > 0)
      selection.queries = integers(integer(1, 5), -slack, shape.query_length - 1 + slack);
    selection.average = flag();
    return selection;
  }

  cases::Returns returns(const AttentionShape& shape) {
    cases::Returns returns;
    returns.output = !rarely();
    returns.lse = flag();
    returns.entropy = flag();
    if (flag()) returns.probs = selection(shape);
    if (flag()) {
      returns.scores = selection(shape);
      if (!rarely()) returns.scores->average = false;
      returns.scores_stage = static_cast<ScoreStage>(integer(0, 3));
    }
    if (flag()) {
      returns.top_k = selection(shape);
      returns.k = integer(rarely() ? 0 : 1, 6);
    }
    return returns;
  }

  FuzzedDataProvider bytes_;
};

}  // namespace headwise
