#include "layer_expectations.h"

#include <gtest/gtest.h>

namespace headwise::layers {

void expect_row(const float* got, std::int64_t stride, const Row& expected, const std::string& where) {
  for (std::size_t d = 0; d < expected.size(); ++d)
    ASSERT_NEAR(got[static_cast<std::int64_t>(d) * stride], expected[d].value, expected[d].error)
        << where << ", feature " << d;
}

void expect_rows(const Floats& y, std::int64_t first_row, const std::vector<Row>& expected) {
  const auto width = static_cast<std::int64_t>(expected.empty() ? 0 : expected[0].size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_row(y.data() + (first_row + static_cast<std::int64_t>(i)) * width, 1, expected[i],
               "row " + std::to_string(i));
}

void expect_self_attention(const Model& m, std::int64_t batch_size, std::int64_t length, bool causal) {
  const Weights weights(m);
  const auto layer = build(m, weights);
  Call call = self_call(m, batch_size, length);
  if (causal) call.attention.causal = Causal::lower_right;
  const Floats y = output_of(*layer, call);
  for (std::int64_t b = 0; b < batch_size; ++b)
    expect_rows(y, b * length, reference(m, weights, self_sequence(m, call, b, causal)));
}

std::vector<Floats> outputs_at(const Layer& layer, const Model& m, std::vector<std::int32_t> offsets, int threads) {
  std::vector<Floats> outputs;
  for (const std::int32_t offset : offsets) {
    Call call = self_call(m, 1, 9);
    call.attention.query_offset = &offset;
    outputs.push_back(output_of(layer, call, threads));
  }
  return outputs;
}

std::vector<Model> models_that_keep_rows() {
  Model sinusoidal = model(24, 2, 8, 24), rotary = sinusoidal;
  sinusoidal.options.position = LayerPosition::sinusoidal;
  rotary.options.position = LayerPosition::rotary;
  return {sinusoidal, rotary};
}

}  // namespace headwise::layers
