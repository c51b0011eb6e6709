// libFuzzer target: any bytes become a layer, a call of it and its gradient. What is refused must write nothing. The
// bits must not depend on threads. Calls that the reference of layers knows must lie within its bounds.
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   build/fuzz/tests/cpp/fuzz_layer -max_total_time=60 build/corpus/fuzz_layer

#include <gtest/gtest.h>

#include <cstring>

#include "fuzz_target.h"
#include "harness.h"
#include "layer_reference.h"

namespace headwise::layers {
namespace {

/// A layer, a call, and the arrays that they point to.
struct Problem {
  Model m;
  Call call;
  Floats query_gain, key_gain, table;
  std::vector<std::int32_t> query_offset, query_lengths;
  std::vector<std::uint8_t> mask;
  bool is_plain = true;  ///< whether layer_reference.h knows it
};

class Decoder {
 public:
  Decoder(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  void problem(Problem& p) {
    p.m = model(integer(1, rarely() ? 150 : 10), 1, integer(1, rarely() ? 12 : 6), integer(1, rarely() ? 140 : 10));
    shape(p.m);
    options(p);
    p.call = self_call(p.m, integer(0, 2), integer(0, rarely() ? 70 : 6));
    if (flag()) contexts(p);
    if (flag()) masks(p);
    if (rarely()) p.is_plain = false, p.call.layout = static_cast<Layout>(integer(-1, 4));
    if (rarely()) break_shape(p);
  }

  bool flag() { return bytes_.ConsumeBool(); }
  const KernelTable& kernels() {
    const std::vector<const KernelTable*> tables = fuzzed_kernel_tables();
    return *tables[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(tables.size()) - 1))];
  }

 private:
  void shape(Model& m) {
    m.shape.num_kv_heads = integer(1, 2);
    m.shape.num_heads = m.shape.num_kv_heads * integer(1, 2);
    m.shape.value_head_dim = flag() ? m.shape.head_dim : integer(1, 12);
    m.shape.output_projection = !rarely();
    if (!m.shape.output_projection) m.shape.output_dim = m.heads_width();
    m.biases = flag();
    m.seed = bytes_.ConsumeIntegral<std::uint8_t>();
  }

  void options(Problem& p) {
    LayerOptions& options = p.m.options;
    options.qk_norm = static_cast<QkNorm>(integer(0, 2));
    options.qk_norm_epsilon = rarely() ? -1.0f : 1e-3f;
    if (options.qk_norm != QkNorm::none && flag()) {
      p.query_gain = random_floats(p.m.shape.head_dim, 60), p.key_gain = random_floats(p.m.shape.head_dim, 61);
      options.query_gain = p.query_gain.data(), options.key_gain = p.key_gain.data();
    }
    options.position = static_cast<LayerPosition>(integer(0, 3));
    p.is_plain = options.position != LayerPosition::sinusoidal;
    options.weight_dtype = static_cast<Dtype>(integer(0, 3));
    if (options.position == LayerPosition::table) {
      options.position_rows = integer(1, 12);
      p.is_plain = false;  // positions may lie outside of the table
      p.table = random_floats(options.position_rows * p.m.shape.input_dim, 62);
      options.position_table = p.table.data();
    }
    RotaryOptions& rotary = options.rotary;
    rotary.interleaved = flag();
    if (flag()) rotary.rotary_dim = integer(-1, 13);
    if (!flag()) return;
    rotary.scaling = static_cast<RotaryScaling>(integer(0, 5));
    rotary.factor = static_cast<double>(integer(0, 64)) / 4.0;
    rotary.original_length = static_cast<double>(integer(0, 40));
  }

  void contexts(Problem& p) {
    p.is_plain = false;
    p.m.shape.key_input_dim = integer(1, 20);
    p.call.key_length = integer(0, 12);
    p.call.key_context = random_floats(p.call.batch_size * p.call.key_length * p.m.shape.key_input_dim, 50);
    p.m.shape.value_input_dim = flag() ? integer(1, 20) : p.m.shape.key_input_dim;
    if (flag())
      p.call.value_context = random_floats(p.call.batch_size * p.call.key_length * p.m.shape.value_input_dim, 51);
  }

  void masks(Problem& p) {
    p.is_plain = false;
    AttentionOptions& attention = p.call.attention;
    const std::int64_t keys = p.call.key_context.empty() ? p.call.query_length : p.call.key_length;
    if (flag()) attention.causal = static_cast<Causal>(integer(0, 2));
    attention.empty_rows = static_cast<EmptyRows>(integer(0, 3));
    if (flag()) attention.window_left = integer(-1, 9);
    if (flag()) attention.softcap = static_cast<float>(integer(0, 80)) / 8.0f;
    if (flag()) list(p.query_offset, p.call.batch_size, -20, 40), attention.query_offset = p.query_offset.data();
    if (flag())
      list(p.query_lengths, p.call.batch_size, 0, p.call.query_length),
          attention.query_lengths = p.query_lengths.data();
    if (!flag()) return;
    for (std::int64_t n = p.call.query_length * keys; n > 0; --n) p.mask.push_back(flag());
    p.mask.push_back(1);  // gives an empty mask an address
    p.call.masks.mask = p.mask.data();
    p.call.masks.mask_extents.extent[2] = p.call.query_length;
    p.call.masks.mask_extents.extent[3] = keys;
  }

  void break_shape(Problem& p) {
    p.is_plain = false;
    std::int64_t* const extents[] = {&p.call.query_length, &p.call.batch_size};
    const std::int64_t values[] = {-1, std::int64_t{1} << 62};
    *bytes_.PickValueInArray(extents) = bytes_.PickValueInArray(values);
  }

  void list(std::vector<std::int32_t>& list, std::int64_t count, std::int64_t low, std::int64_t high) {
    for (; count > 0; --count) list.push_back(static_cast<std::int32_t>(integer(low, high)));
    list.reserve(1);  // gives an empty list an address
  }

  bool rarely() { return bytes_.ConsumeIntegral<std::uint8_t>() < 16; }
  std::int64_t integer(std::int64_t low, std::int64_t high) { return bytes_.ConsumeIntegralInRange(low, high); }

  FuzzedDataProvider bytes_;
};

bool have_equal_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Gradients of X, Wq and Wo.
struct Gradients {
  Floats x, wq, wo;

  Gradients(const Problem& p, const Weights& weights)
      : x(p.call.x.size() + 1, 9.0f), wq(weights.wq.size(), 9.0f), wo(weights.wo.size(), 9.0f) {}
  [[nodiscard]] LayerGradients view(const Problem& p) {
    LayerGradients view;
    view.input = x.data();
    view.query_weights = {wq.data(), p.m.query_width(), 1, nullptr};
    if (p.m.shape.output_projection) view.output_weights = {wo.data(), p.m.shape.output_dim, 1, nullptr};
    return view;
  }
};

void expect_gradients(const Problem& p, const Layer& layer, const Weights& weights, const SavedForward& saved,
                      std::size_t size) {
  const Floats output_gradient = random_floats(static_cast<std::int64_t>(size), 200);
  Gradients one(p, weights), two(p, weights);
  const Status status = layer.backward(pool_of(1), saved, {{output_gradient.data()}}, one.view(p));
  EXPECT_EQ(layer.backward(pool_of(2), saved, {{output_gradient.data()}}, two.view(p)).code, status.code);
  EXPECT_TRUE(have_equal_bits(one.x, two.x) && have_equal_bits(one.wq, two.wq) && have_equal_bits(one.wo, two.wo));
}

void expect_reference(const Problem& p, const Weights& weights, const Floats& y) {
  const Weights rounded = p.m.options.weight_dtype == Dtype::float32 ? weights : kept(p.m, weights);
  for (std::int64_t b = 0; b < p.call.batch_size; ++b) {
    const std::vector<Row> rows = reference(p.m, rounded, self_sequence(p.m, p.call, b, false));
    for (std::int64_t s = 0; s < p.call.query_length; ++s)
      for (std::int64_t o = 0; o < p.m.shape.output_dim; ++o) {
        const Bounded& expected = rows[static_cast<std::size_t>(s)][static_cast<std::size_t>(o)];
        EXPECT_NEAR(y[static_cast<std::size_t>((b * p.call.query_length + s) * p.m.shape.output_dim + o)],
                    expected.value, expected.error)
            << "[" << b << ", " << s << ", " << o << "]";
      }
  }
}

}  // namespace
}  // namespace headwise::layers

void headwise::fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace headwise::layers;
  Decoder decoder(data, size);
  Problem p;
  decoder.problem(p);
  const bool wants_gradient = decoder.flag();
  const UsingKernels using_kernels(decoder.kernels());
  const Weights weights(p.m);
  std::unique_ptr<Layer> layer;
  if (!Layer::create(p.m.shape, weights.view(p.m), p.m.options, &layer).ok()) {
    EXPECT_EQ(layer, nullptr);
    return;
  }
  const std::int64_t rows = static_cast<std::int64_t>(p.call.x.size()) / p.m.shape.input_dim;
  Floats y(static_cast<std::size_t>(rows * p.m.shape.output_dim), 9.0f), again = y;
  const Floats untouched = y;
  std::unique_ptr<SavedForward> saved;
  const Status status = layer->forward(pool_of(1), inputs_of(p.call), p.call.masks, p.call.attention, into(y),
                                       wants_gradient ? &saved : nullptr);
  if (!status.ok()) {
    EXPECT_EQ(y, untouched) << "refused (" << status.message().text << "), but the output was written";
    return;
  }
  EXPECT_TRUE(forward(*layer, p.call, into(again), 2).ok());
  EXPECT_TRUE(have_equal_bits(y, again)) << "two threads give other bits";
  if (p.is_plain) expect_reference(p, weights, y);
  if (saved) expect_gradients(p, *layer, weights, *saved, y.size());
}
