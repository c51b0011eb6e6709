#include "attention/head_rows.h"

#include <algorithm>

namespace headwise {

namespace {

/// Puts the mean of a head's rows in place of the chosen ones.
void overwrite_by_mean(ThreadPool& pool, const HeadRows& rows, const RowChoice& choice) {
  constexpr std::int64_t kFeatures = 64;  // that are added at a time
  const std::int64_t step = rows.strides.feature;
  pool.parallel_for(choice.heads(), [&](std::int64_t n, int) {
    const std::int64_t head = choice.head(n);
    for (std::int64_t first = 0; first < rows.width; first += kFeatures) {
      const std::int64_t features = std::min(kFeatures, rows.width - first);
      double sums[kFeatures] = {};
      std::int64_t count = 0;
      for (std::int64_t b = 0; b < rows.batch_size; ++b)
        for (std::int64_t i = 0; i < rows.length_of(b); ++i, ++count)
          for (std::int64_t d = 0; d < features; ++d) sums[d] += rows.at(b, head, i)[(first + d) * step];
      for (std::int64_t b = 0; b < rows.batch_size; ++b)
        for (std::int64_t r = 0; r < choice.rows(); ++r)
          for (std::int64_t d = 0; d < features && choice.row(r) < rows.length_of(b); ++d)
            rows.at(b, head, choice.row(r))[(first + d) * step] =
                static_cast<float>(sums[d] / static_cast<double>(count));
    }
  });
}

}  // namespace

void overwrite(ThreadPool& pool, const HeadRows& rows, const Patch& patch) {
  const RowChoice choice{patch.selection, rows.heads, rows.length};
  if (patch.mean) return overwrite_by_mean(pool, rows, choice);
  if (!patch.data) return;
  for_each_chosen_row(pool, rows.batch_size, choice,
                      [&](std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t place) {
                        if (i >= rows.length_of(b)) return;
                        const float* const data = patch.data + place * rows.width;
                        for (std::int64_t d = 0; d < rows.width; ++d)
                          rows.at(b, head, i)[d * rows.strides.feature] = data[d];
                      });
}

void copy_chosen(ThreadPool& pool, const HeadRows& rows, const Selection& selection, float* copies) {
  for_each_chosen_row(pool, rows.batch_size, {selection, rows.heads, rows.length},
                      [&](std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t place) {
                        for (std::int64_t d = 0; d < rows.width; ++d)
                          copies[place * rows.width + d] = rows.at(b, head, i)[d * rows.strides.feature];
                      });
}

}  // namespace headwise
