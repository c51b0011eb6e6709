#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layer_model.h"
#include "layer_reference.h"

/// What tests expect of layers.
namespace headwise::layers {

void expect_row(const float* got, std::int64_t stride, const Row& expected, const std::string& where);

void expect_rows(const Floats& y, std::int64_t first_row, const std::vector<Row>& expected);

/// Y of a call on random numbers is that of the reference.
void expect_self_attention(const Model& m, std::int64_t batch_size, std::int64_t length, bool causal);

/// Y of the same tokens at each of `offsets`, one call after another.
[[nodiscard]] std::vector<Floats> outputs_at(const Layer& layer, const Model& m, std::vector<std::int32_t> offsets,
                                             int threads);

/// A layer whose rows depend on positions, for each kind that keeps rows.
[[nodiscard]] std::vector<Model> models_that_keep_rows();

}  // namespace headwise::layers
