#include "headwise/linear.h"

#include <algorithm>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/rules.h"
#include "layer/projection.h"
#include "layer/weight_gradient.h"

namespace headwise {

namespace {

Error check_shape(const LinearShape& shape, const void* weight) {
  if (shape.rows < 0 || shape.in < 1 || shape.out < 1)
    return refuse(Rule::linear_shape, shape.rows, shape.in, shape.out);
  std::int64_t floats = 0, bytes = 0;
  if (!multiply_sizes(std::max(shape.rows, shape.in), std::max(shape.in, shape.out), &floats) ||
      !multiply_sizes(floats, static_cast<std::int64_t>(sizeof(float)), &bytes))
    return refuse(Rule::linear_size);
  if (!weight) return refuse(Rule::linear_weight);
  return {};
}

Error check_floats(std::initializer_list<Dtype> dtypes) {
  for (const Dtype dtype : dtypes)
    if (!is_input_dtype(dtype)) return refuse(Rule::linear_dtype);
  return {};
}

/// A weight that is not int8, or a bias.
Error check_weight_floats(Dtype dtype) { return dtype == Dtype::bfloat16 ? Error{} : check_floats({dtype}); }

Error check_weight(const LinearWeights& weights, std::int64_t out) {
  if (Error e = check_weight_floats(weights.bias.dtype)) return e;
  if (weights.weight.dtype != Dtype::int8) return check_weight_floats(weights.weight.dtype);
  if (!weights.scales || !all_finite(weights.scales, out)) return refuse(Rule::linear_scales, out);
  return {};
}

ConstTokenRows rows_of(ConstArray array, std::int64_t rows, std::int64_t width) {
  return as_const(contiguous_rows({const_cast<void*>(array.data), array.dtype}, rows, width));
}

Error check_arrays(const LinearShape& shape, ConstArray x, MutableArray y) {
  if (Error e = check_floats({x.dtype, y.dtype})) return e;
  return check_given({{Argument::x, shape.rows > 0, x.data}, {Argument::output, shape.rows > 0, y.data}});
}

Error multiply(ThreadPool& pool, const Projection& projection, const ConstTokenRows& x, const TokenRows& y) {
  Buffer<float> scratch;
  if (Error e = scratch.allocate(pool.size() * projection.scratch_floats())) return e;
  const ProjectionJob job{&projection, x, y};
  project(pool, {&job, 1}, scratch);
  return {};
}

}  // namespace

Status linear(ThreadPool& pool, const LinearShape& shape, ConstArray x, const LinearWeights& weights, MutableArray y) {
  if (Error e = check_shape(shape, weights.weight.data)) return e;
  if (Error e = check_weight(weights, shape.out)) return e;
  if (Error e = check_arrays(shape, x, y)) return e;
  const ConstTokenRows rows = rows_of(x, shape.rows, shape.in);
  const TokenRows results = contiguous_rows(y, shape.rows, shape.out);
  if (suits_in_place(weights, shape.rows)) return multiply_in_place(pool, weights, shape.in, shape.out, rows, results);
  Projection projection;
  if (Error e = projection.create(weights, shape.in, shape.out, 1)) return e;
  return multiply(pool, projection, rows, results);
}

int panel_width() { return kernel_table().panel_width; }

Status linear(ThreadPool& pool, const LinearShape& shape, ConstArray x, const PanelWeights& weights, MutableArray y) {
  if (Error e = check_shape(shape, weights.panels.data)) return e;
  if (reinterpret_cast<std::uintptr_t>(weights.panels.data) % kAlignment != 0)
    return refuse(Rule::linear_panels, kAlignment);
  for (const ConstArray& array : {weights.panels, weights.bias})
    if (Error e = check_weight_floats(array.dtype)) return e;
  if (Error e = check_arrays(shape, x, y)) return e;
  Projection projection;
  if (Error e = projection.view(weights, shape.in, shape.out)) return e;
  return multiply(pool, projection, rows_of(x, shape.rows, shape.in), contiguous_rows(y, shape.rows, shape.out));
}

Status linear_backward(ThreadPool& pool, const LinearShape& shape, ConstArray x, const LinearWeights& weights,
                       ConstArray output_gradient, const LinearGradients& gradients) {
  if (Error e = check_shape(shape, weights.weight.data)) return e;
  if (Error e = check_floats({x.dtype, output_gradient.dtype})) return e;
  if (Error e = check_weight_floats(weights.weight.dtype)) return e;
  if (Error e = check_given(
          {{Argument::x, shape.rows > 0, x.data}, {Argument::output_gradient, shape.rows > 0, output_gradient.data}}))
    return e;
  const ThreadPool::Call call(pool);
  const ConstTokenRows dy = rows_of(output_gradient, shape.rows, shape.out);
  Projection back;  // dX = dY W^T
  const LinearWeights transposed{weights.weight, weights.out_stride, weights.in_stride};
  if (gradients.input)
    if (Error e = back.create(transposed, shape.out, shape.in, 1)) return e;
  WeightGradient weight;
  if (Error e = weight.create({rows_of(x, shape.rows, shape.in), dy, shape.in, shape.out, gradients.weight,
                               weights.in_stride, weights.out_stride, gradients.bias}))
    return e;
  Buffer<float> scratch;
  const std::int64_t floats = std::max(gradients.input ? back.scratch_floats() : 0, WeightGradient::scratch_floats());
  if (Error e = scratch.allocate(pool.size() * floats)) return e;

  const ProjectionJob job{&back, dy, contiguous_rows({gradients.input}, shape.rows, shape.in)};
  if (gradients.input) project(pool, {&job, 1}, scratch);
  weight.run(pool, scratch);
  return {};
}

}  // namespace headwise
