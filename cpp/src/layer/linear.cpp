#include "headwise/linear.h"

#include <algorithm>

#include "base/memory.h"
#include "base/numbers.h"
#include "layer/projection.h"
#include "layer/weight_gradient.h"

namespace headwise {

namespace {

using Long = long long;

Status check_shape(const LinearShape& shape, const LinearWeights& weights) {
  if (shape.rows < 0 || shape.in < 1 || shape.out < 1)
    return Status::error(
        StatusCode::invalid_shape,
        "x must have rows >= 0, and the weight extents >= 1, got %lld rows and a weight of %lld x %lld",
        static_cast<Long>(shape.rows), static_cast<Long>(shape.in), static_cast<Long>(shape.out));
  std::int64_t floats = 0, bytes = 0;
  if (!multiply_sizes(std::max(shape.rows, shape.in), std::max(shape.in, shape.out), &floats) ||
      !multiply_sizes(floats, static_cast<std::int64_t>(sizeof(float)), &bytes))
    return Status::error(StatusCode::invalid_shape, "the size of x or of the weight overflows");
  if (!weights.weight.data) return Status::error(StatusCode::invalid_shape, "the weight must be given");
  return {};
}

Status check_floats(std::initializer_list<Dtype> dtypes) {
  for (const Dtype dtype : dtypes)
    if (!is_input_dtype(dtype))
      return Status::error(StatusCode::unsupported, "a linear map takes and gives float32 or float16");
  return {};
}

/// A weight that is not int8, or a bias.
Status check_weight_floats(Dtype dtype) { return dtype == Dtype::bfloat16 ? Status{} : check_floats({dtype}); }

Status check_weight(const LinearWeights& weights, std::int64_t out) {
  if (Status status = check_weight_floats(weights.bias.dtype); !status.ok()) return status;
  if (weights.weight.dtype != Dtype::int8) return check_weight_floats(weights.weight.dtype);
  if (!weights.scales || !all_finite(weights.scales, out))
    return Status::error(StatusCode::invalid_option, "a weight of int8 needs %lld finite scales",
                         static_cast<Long>(out));
  return {};
}

Status allocate_scratch(Buffer<float>& scratch, const ThreadPool& pool, std::int64_t floats) {
  const std::int64_t all = pool.size() * floats;
  return scratch.allocate(all) ? Status{} : Status::out_of_memory(all * static_cast<std::int64_t>(sizeof(float)));
}

ConstTokenRows rows_of(ConstArray array, std::int64_t rows, std::int64_t width) {
  return as_const(contiguous_rows({const_cast<void*>(array.data), array.dtype}, rows, width));
}

}  // namespace

Status linear(ThreadPool& pool, const LinearShape& shape, ConstArray x, const LinearWeights& weights, MutableArray y) {
  if (Status status = check_shape(shape, weights); !status.ok()) return status;
  if (Status status = check_floats({x.dtype, y.dtype}); !status.ok()) return status;
  if (Status status = check_weight(weights, shape.out); !status.ok()) return status;
  if (StoredProduct::suits(weights, shape.rows))
    return StoredProduct(weights, shape.in, shape.out)
        .run(pool, rows_of(x, shape.rows, shape.in), contiguous_rows(y, shape.rows, shape.out));
  Projection projection;
  if (Status status = projection.create(weights, shape.in, shape.out, 1); !status.ok()) return status;
  Buffer<float> scratch;
  if (Status status = allocate_scratch(scratch, pool, projection.scratch_floats()); !status.ok()) return status;
  const ProjectionJob job{&projection, rows_of(x, shape.rows, shape.in), contiguous_rows(y, shape.rows, shape.out)};
  project(pool, {&job, 1}, scratch);
  return {};
}

Status linear_backward(ThreadPool& pool, const LinearShape& shape, ConstArray x, const LinearWeights& weights,
                       ConstArray output_gradient, const LinearGradients& gradients) {
  if (Status status = check_shape(shape, weights); !status.ok()) return status;
  if (Status status = check_floats({x.dtype, output_gradient.dtype}); !status.ok()) return status;
  if (Status status = check_weight_floats(weights.weight.dtype); !status.ok()) return status;
  const ThreadPool::Call call(pool);
  const ConstTokenRows dy = rows_of(output_gradient, shape.rows, shape.out);
  Projection back;  // dX = dY W^T
  const LinearWeights transposed{weights.weight, weights.out_stride, weights.in_stride};
  if (gradients.input)
    if (Status status = back.create(transposed, shape.out, shape.in, 1); !status.ok()) return status;
  WeightGradient weight;
  if (Status status = weight.create({rows_of(x, shape.rows, shape.in), dy, shape.in, shape.out, gradients.weight,
                                     weights.in_stride, weights.out_stride, gradients.bias});
      !status.ok())
    return status;
  Buffer<float> scratch;
  const std::int64_t floats = std::max(gradients.input ? back.scratch_floats() : 0, WeightGradient::scratch_floats());
  if (Status status = allocate_scratch(scratch, pool, floats); !status.ok()) return status;

  const ProjectionJob job{&back, dy, contiguous_rows({gradients.input}, shape.rows, shape.in)};
  if (gradients.input) project(pool, {&job, 1}, scratch);
  weight.run(pool, scratch);
  return {};
}

}  // namespace headwise
