#include "layer/normalise.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace headwise {

void normalise(float* head, std::int64_t stride, std::int64_t head_dim, QkNorm kind, float epsilon, const float* gain) {
  Eigen::Map<Eigen::ArrayXf, 0, Eigen::InnerStride<>> x(head, head_dim, Eigen::InnerStride<>(stride));
  const double squares = x.cast<double>().square().sum();
  const double size = kind == QkNorm::rms ? std::sqrt(squares / static_cast<double>(head_dim) + epsilon)
                                          : std::max(std::sqrt(squares), static_cast<double>(epsilon));
  x *= static_cast<float>(1.0 / size);
  if (gain) x *= Eigen::Map<const Eigen::ArrayXf>(gain, head_dim);
}

}  // namespace headwise
