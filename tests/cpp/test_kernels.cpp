// Every function of every kernel table against a plain loop in double.

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/memory.h"
#include "base/numbers.h"
#include "harness.h"
#include "tolerance.h"

namespace headwise::test_kernels {

using tolerance::kEpsilon;
using tolerance::kFlushed;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUntouched = 12345.0f;

/// 64-byte aligned floats, as the core's scratch is.
Buffer<float> floats(std::int64_t count, std::uint32_t stream) {
  Buffer<float> buffer;
  EXPECT_TRUE(buffer.allocate(count).ok());
  for (std::int64_t k = 0; k < count; ++k)
    buffer[k] = static_cast<float>(
        static_cast<double>(cases::word(9, stream, static_cast<std::uint32_t>(k)) >> 8) * 0x1p-23 - 1.0);
  return buffer;
}

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

class Kernels : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& kernels = *GetParam();
};

const std::int64_t kEdges[] = {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65};

/// Index of (depth k, column c) in panels of depth `depth`.
std::int64_t panel_index(std::int64_t depth, std::int64_t k, std::int64_t c, std::int64_t width) {
  return c / width * depth * width + k * width + c % width;
}

TEST_P(Kernels, MultiplyIsTheMatrixProduct) {
  for (const std::int64_t depth : kEdges) {
    for (const std::int64_t panels : {1, 2, 3}) {
      for (const bool accumulate : {false, true}) {
        const std::int64_t rows = 7 * kernels.row_step, columns = panels * kernels.panel_width;
        const std::int64_t lda = depth + 3, ldc = columns + 5;
        const Buffer<float> a = floats(rows * lda, 1), b = floats(depth * columns, 2), before = floats(rows * ldc, 3);
        Buffer<float> c = floats(rows * ldc, 3);
        kernels.multiply(a.data(), lda, b.data(), depth * kernels.panel_width, depth, panels, c.data(), ldc, rows,
                         accumulate);
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t j = 0; j < ldc; ++j) {
            if (j >= columns) {
              ASSERT_EQ(c[r * ldc + j], before[r * ldc + j]) << "written past the panels";
              continue;
            }
            double sum = accumulate ? before[r * ldc + j] : 0.0, magnitude = std::abs(sum);
            for (std::int64_t k = 0; k < depth; ++k) {
              const double product =
                  static_cast<double>(a[r * lda + k]) * b[panel_index(depth, k, j, kernels.panel_width)];
              sum += product;
              magnitude += std::abs(product);
            }
            // one rounding a product and one a sum, none of which sees more than the magnitude
            ASSERT_NEAR(c[r * ldc + j], sum, static_cast<double>(depth + 1) * kEpsilon * magnitude);
          }
        }
      }
    }
  }
}

// The promise behind "the same bits for every tiling": an element does not depend on what is computed beside it.
TEST_P(Kernels, MultiplySumsInTheSameOrderWhateverTheShape) {
  const std::int64_t depth = 37, panels = 3, rows = 4 * kernels.row_step, ldc = panels * kernels.panel_width;
  const Buffer<float> a = floats(rows * depth, 1), b = floats(depth * ldc, 2);
  Buffer<float> whole = floats(rows * ldc, 3), part = floats(kernels.row_step * kernels.panel_width, 4);
  kernels.multiply(a.data(), depth, b.data(), depth * kernels.panel_width, depth, panels, whole.data(), ldc, rows,
                   false);
  for (std::int64_t row = 0; row < rows; row += kernels.row_step) {
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      kernels.multiply(a.data() + row * depth, depth, b.data() + panel * depth * kernels.panel_width, 0, depth, 1,
                       part.data(), kernels.panel_width, kernels.row_step, false);
      for (std::int64_t r = 0; r < kernels.row_step; ++r)
        for (std::int64_t j = 0; j < kernels.panel_width; ++j)
          ASSERT_EQ(part[r * kernels.panel_width + j], whole[(row + r) * ldc + panel * kernels.panel_width + j]);
    }
  }
}

// Otherwise the bits of a result would depend on which table of a wasm module was the fastest.
TEST_P(Kernels, TablesOfOneInstructionSetGiveEqualBits) {
  for (const KernelTable* other : kernel_tables()) {
    if (std::strcmp(other->name, kernels.name) != 0) continue;
    ASSERT_EQ(other->panel_width, kernels.panel_width);
    ASSERT_EQ(other->row_step, kernels.row_step);
    for (const std::int64_t rows : {1, 2, 3, 5, 16}) {
      for (const bool accumulate : {false, true}) {
        const std::int64_t depth = 67, panels = 2, padded = rows * kernels.row_step;
        const std::int64_t ldc = panels * kernels.panel_width;
        const Buffer<float> a = floats(padded * depth, 1), b = floats(depth * ldc, 2);
        Buffer<float> mine = floats(padded * ldc, 3), theirs = floats(padded * ldc, 3);
        kernels.multiply(a.data(), depth, b.data(), depth * kernels.panel_width, depth, panels, mine.data(), ldc,
                         padded, accumulate);
        other->multiply(a.data(), depth, b.data(), depth * kernels.panel_width, depth, panels, theirs.data(), ldc,
                        padded, accumulate);
        ASSERT_EQ(std::memcmp(mine.data(), theirs.data(), padded * ldc * sizeof(float)), 0) << other->block;
      }
    }
  }
}

TEST_P(Kernels, MultiplyTransposedHasTheBitsOfMultiply) {
  for (const std::int64_t depth : kEdges) {
    for (const bool accumulate : {false, true}) {
      const std::int64_t panels = 2, rows = 7 * kernels.row_step, columns = panels * kernels.panel_width;
      const std::int64_t panel = depth * kernels.panel_width;
      const Buffer<float> a = floats(rows * depth, 1), b = floats(depth * columns, 2);
      Buffer<float> transposed = floats(depth * rows, 0), c = floats(rows * columns, 3), d = floats(rows * columns, 3);
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t r = 0; r < rows; ++r) transposed[k * rows + r] = a[r * depth + k];
      kernels.multiply(a.data(), depth, b.data(), panel, depth, panels, c.data(), columns, rows, accumulate);
      kernels.multiply_transposed(transposed.data(), rows, b.data(), panel, depth, panels, d.data(), columns, rows,
                                  accumulate);
      ASSERT_EQ(std::memcmp(c.data(), d.data(), static_cast<std::size_t>(rows * columns) * sizeof(float)), 0) << depth;
    }
  }
}

TEST_P(Kernels, MultiplyStreamedHasTheBitsOfMultiplyForEveryNumberOfRows) {
  for (const std::int64_t depth : kEdges) {
    for (const std::int64_t panels : {1, 2, 3, 4}) {
      for (std::int64_t rows = 1; rows <= 2 * kernels.row_step + 1; ++rows) {
        const std::int64_t padded = round_up(rows, kernels.row_step), width = kernels.panel_width;
        const std::int64_t lda = depth + 3, ldc = panels * width + 5;
        const Buffer<float> a = floats(padded * lda, 1), b = floats((panels + 1) * depth * width, 2);
        Buffer<float> c = floats(padded * ldc, 3), expected = floats(padded * ldc, 3);
        kernels.multiply(a.data(), lda, b.data(), depth * width, depth, panels, expected.data(), ldc, padded, true);
        const float* next = rows % 2 == 0 ? b.data() + panels * depth * width : nullptr;
        kernels.multiply_streamed(a.data(), lda, {b.data()}, depth * width, depth, panels, next, c.data(), ldc, rows);
        for (std::int64_t i = 0; i < rows * ldc; ++i) ASSERT_EQ(c[i], expected[i]);
        const Buffer<float> before = floats(padded * ldc, 3);
        for (std::int64_t i = rows * ldc; i < padded * ldc; ++i) ASSERT_EQ(c[i], before[i]) << "written past the rows";
      }
    }
  }
}

TEST_P(Kernels, DotRowsIsEveryDotProduct) {
  for (const std::int64_t depth : kEdges) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7}) {
      for (const std::int64_t num_keys : {1, 3, 4, 5, 9}) {
        const std::ptrdiff_t ldq = depth + 1, ldk = depth + 2, lds = num_keys + 3;
        const Buffer<float> query = floats(rows * ldq, 1), keys = floats(num_keys * ldk, 2);
        Buffer<float> scores = floats(rows * lds, 3);
        std::fill_n(scores.data(), rows * lds, kUntouched);
        const RowRun run{keys.data(), Dtype::float32, ldk, 1, nullptr, 0, num_keys};
        kernels.dot_rows(query.data(), ldq, rows, run, depth, scores.data(), lds);
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t j = 0; j < lds; ++j) {
            if (j >= num_keys) {
              ASSERT_EQ(scores[r * lds + j], kUntouched);
              continue;
            }
            double sum = 0, magnitude = 0;
            for (std::int64_t d = 0; d < depth; ++d) {
              const double product = static_cast<double>(query[r * ldq + d]) * keys[j * ldk + d];
              sum += product;
              magnitude += std::abs(product);
            }
            ASSERT_NEAR(scores[r * lds + j], sum, static_cast<double>(depth + 1) * kEpsilon * magnitude);
          }
        }
      }
    }
  }
}

TEST_P(Kernels, WeightedSumAddsEveryValueRow) {
  for (const std::int64_t columns : kEdges) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 9}) {
      for (const std::int64_t num_keys : {0, 1, 3, 17, 70}) {
        const std::ptrdiff_t ldw = num_keys + 1, ldv = columns + 2, ldo = columns + 3;
        const Buffer<float> weights = floats(rows * ldw, 1), values = floats(num_keys * ldv + 1, 2);
        const Buffer<float> before = floats(rows * ldo, 3);
        Buffer<float> out = floats(rows * ldo, 3);
        const RowRun run{values.data(), Dtype::float32, ldv, 1, nullptr, 0, num_keys};
        kernels.weighted_sum(weights.data(), ldw, rows, run, columns, out.data(), ldo);
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t d = 0; d < ldo; ++d) {
            double sum = before[r * ldo + d], magnitude = std::abs(sum);
            for (std::int64_t j = 0; d < columns && j < num_keys; ++j) {
              const double product = static_cast<double>(weights[r * ldw + j]) * values[j * ldv + d];
              sum += product;
              magnitude += std::abs(product);
            }
            ASSERT_NEAR(out[r * ldo + d], sum, static_cast<double>(num_keys + 1) * kEpsilon * magnitude);
          }
        }
      }
    }
  }
}

/// A run of `count` rows of `columns` in one of the forms that keys and values come in, and what it holds.
struct RunCase {
  RowRun run;
  std::vector<std::uint8_t> bytes;
  std::vector<float> scales;
  std::vector<float> expected;  ///< [count, columns]
};

RunCase make_run(Dtype dtype, bool column_form, std::int64_t count, std::int64_t columns) {
  RunCase made;
  const std::ptrdiff_t row_stride = column_form ? 1 : columns + 3, column_stride = column_form ? count + 2 : 1;
  const std::size_t elements = (count + 3) * (columns + 3);
  made.bytes.resize(elements * 4);
  made.run.dtype = dtype;
  made.run.row_stride = row_stride;
  made.run.column_stride = column_stride;
  made.run.count = count;
  if (dtype == Dtype::int8) {
    made.run.scale_stride = static_cast<std::ptrdiff_t>(scales_of(columns) + 1);
    for (std::int64_t n = 0; n < made.run.scale_stride * count; ++n)
      made.scales.push_back(0.01f * static_cast<float>(n + 1));
  }
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::ptrdiff_t at = r * row_stride + c * column_stride;
      const std::uint32_t word = cases::word(11, 1, static_cast<std::uint32_t>(r * columns + c));
      if (dtype == Dtype::float32) {
        const float value = static_cast<float>(word) * 0x1p-31f - 1.0f;
        reinterpret_cast<float*>(made.bytes.data())[at] = value;
        made.expected.push_back(value);
      } else if (dtype == Dtype::float16) {
        const auto half = static_cast<std::uint16_t>(word & 0xbbff);  // any finite one
        reinterpret_cast<std::uint16_t*>(made.bytes.data())[at] = half;
        made.expected.push_back(half_to_float(half));
      } else if (dtype == Dtype::bfloat16) {
        const Bfloat16 number = float_to_bfloat(static_cast<float>(word) * 0x1p-31f - 1.0f);
        reinterpret_cast<Bfloat16*>(made.bytes.data())[at] = number;
        made.expected.push_back(bfloat_to_float(number));
      } else {
        const auto small = static_cast<std::int8_t>(word);
        made.bytes[at] = static_cast<std::uint8_t>(small);
        made.expected.push_back(static_cast<float>(small) * made.scales[r * made.run.scale_stride + c / kScaleBlock]);
      }
    }
  }
  return made;
}

template <class Visit>
void for_each_run_form(Visit visit) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int8, Dtype::bfloat16})
    for (const bool column_form : {false, true})
      for (const std::int64_t count : {1, 4, 9, 19, 40})
        for (const std::int64_t columns : kEdges) {
          RunCase made = make_run(dtype, column_form, count, columns);
          made.run.data = made.bytes.data();
          made.run.scales = made.scales.data();
          SCOPED_TRACE(testing::Message() << "dtype " << static_cast<int>(dtype) << " column form " << column_form
                                          << " rows " << count << " columns " << columns);
          visit(made, count, columns);
        }
}

TEST_P(Kernels, FewQueryRowsReadEveryDtypeOfKeysWhereItLies) {
  constexpr std::int64_t kRows = 5;
  for_each_run_form([&](const RunCase& made, std::int64_t count, std::int64_t columns) {
    if (made.run.column_stride != 1 || made.run.dtype == Dtype::bfloat16) return;
    const Buffer<float> query = floats(kRows * columns, 5), weights = floats(kRows * count, 6);
    std::vector<float> scores(kRows * count), sums(kRows * columns, 0.0f);
    kernels.dot_rows(query.data(), columns, kRows, made.run, columns, scores.data(), count);
    kernels.weighted_sum(weights.data(), count, kRows, made.run, columns, sums.data(), columns);
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t j = 0; j < count; ++j) {
        double dot = 0, magnitude = 0;
        for (std::int64_t d = 0; d < columns; ++d) {
          const double product = static_cast<double>(query[r * columns + d]) * made.expected[j * columns + d];
          dot += product;
          magnitude += std::abs(product);
        }
        // two roundings more for a scale
        ASSERT_NEAR(scores[r * count + j], dot, static_cast<double>(columns + 3) * kEpsilon * magnitude);
      }
      for (std::int64_t d = 0; d < columns; ++d) {
        double sum = 0, magnitude = 0;
        for (std::int64_t j = 0; j < count; ++j) {
          const double product = static_cast<double>(weights[r * count + j]) * made.expected[j * columns + d];
          sum += product;
          magnitude += std::abs(product);
        }
        ASSERT_NEAR(sums[r * columns + d], sum, static_cast<double>(count + 1) * kEpsilon * magnitude);
      }
    }
  });
}

// The bits of a linear map's row thus do not depend on how many rows are computed together.
TEST_P(Kernels, WeightsThatAreReadWhereTheyLieGiveTheBitsOfMultiply) {
  for_each_run_form([&](const RunCase& made, std::int64_t count, std::int64_t columns) {
    if (made.run.column_stride != 1) return;
    RowRun run = made.run;
    run.scales = nullptr;
    for (const bool transposed : {false, true}) {
      if (transposed && run.dtype == Dtype::int8) continue;  // multiply_bytes
      const std::int64_t depth = transposed ? columns : count, out = transposed ? count : columns;
      const std::int64_t panels = (out + kernels.panel_width - 1) / kernels.panel_width;
      const std::int64_t ldx = depth + 1, ldy = round_up(panels * kernels.panel_width, 4 * kernels.lanes) + 3;
      Buffer<float> packed = floats(depth * panels * kernels.panel_width, 0);
      std::fill_n(packed.data(), packed.size(), 0.0f);
      if (transposed)
        kernels.pack_transposed(run, depth, 0, packed.data());
      else
        kernels.pack(run, out, 0, depth, packed.data());
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 9}) {
        const std::int64_t padded = round_up(rows, kernels.row_step);
        const Buffer<float> x = floats(padded * ldx, 5);
        Buffer<float> expected = floats(padded * ldy, 6), y = floats(padded * ldy, 6);
        kernels.multiply(x.data(), ldx, packed.data(), depth * kernels.panel_width, depth, panels, expected.data(), ldy,
                         padded, true);
        (transposed ? kernels.multiply_stored_transposed : kernels.multiply_stored)(
            x.data(), ldx, rows, run, transposed ? depth : out, y.data(), ldy);
        for (std::int64_t r = 0; r < rows; ++r)
          ASSERT_EQ(std::memcmp(y.data() + r * ldy, expected.data() + r * ldy, 4 * static_cast<std::size_t>(out)), 0)
              << "transposed " << transposed << " rows " << rows;
        const Buffer<float> before = floats(padded * ldy, 6);
        const std::int64_t end = transposed ? round_up(out, 4 * kernels.lanes) : out;
        for (std::int64_t c = end; c < ldy; ++c) ASSERT_EQ(y[c], before[c]) << "written past the columns";
      }
    }
  });
}

TEST_P(Kernels, Float16RowsKeepInfinitiesAndNaNsWhereTheyLie) {
  const std::int64_t columns = 2 * kernels.lanes;
  std::vector<std::uint16_t> values(columns, 0x3c00);
  values[1] = 0x7c00, values[2] = 0xfc00, values[3] = 0x7e01;
  std::vector<float> sums(columns, 0.0f);
  const float weight = 0.5f;
  const RowRun run{values.data(), Dtype::float16, static_cast<std::ptrdiff_t>(columns), 1, nullptr, 0, 1};
  kernels.weighted_sum(&weight, 1, 1, run, columns, sums.data(), columns);
  EXPECT_EQ(sums[0], 0.5f);
  EXPECT_EQ(sums[1], kInfinity);
  EXPECT_EQ(sums[2], -kInfinity);
  EXPECT_TRUE(std::isnan(sums[3]));
}

TEST_P(Kernels, WidenGivesFloatRows) {
  for_each_run_form([&](const RunCase& made, std::int64_t count, std::int64_t columns) {
    const std::int64_t ld = columns + 2;
    std::vector<float> rows(count * ld, kUntouched);
    kernels.widen(made.run, columns, rows.data(), ld);
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t c = 0; c < ld; ++c)
        ASSERT_EQ(rows[r * ld + c], c < columns ? made.expected[r * columns + c] : kUntouched);
  });
}

TEST_P(Kernels, PackTransposedPutsRowsIntoPanelColumns) {
  for_each_run_form([&](const RunCase& made, std::int64_t count, std::int64_t columns) {
    for (const std::int64_t first : {0, 1, 4, 13, 16, 23, 30}) {
      const std::int64_t width = kernels.panel_width, panels = round_up(first + count, width) / width;
      Buffer<float> packed = floats(panels * width * columns, 3);
      std::fill_n(packed.data(), packed.size(), kUntouched);
      kernels.pack_transposed(made.run, columns, first, packed.data());
      for (std::int64_t j = 0; j < panels * width; ++j)
        for (std::int64_t d = 0; d < columns; ++d)
          ASSERT_EQ(packed[panel_index(columns, d, j, width)],
                    j >= first && j < first + count ? made.expected[(j - first) * columns + d] : kUntouched)
              << "row " << j << " column " << d << " first " << first;
    }
  });
}

TEST_P(Kernels, PackPutsRowsIntoPanelRowsAndPadsColumns) {
  for_each_run_form([&](const RunCase& made, std::int64_t count, std::int64_t columns) {
    for (const std::int64_t first : {0, 3}) {
      const std::int64_t width = kernels.panel_width, padded = round_up(columns, width), depth = first + count + 2;
      Buffer<float> packed = floats(padded * depth, 3);
      std::fill_n(packed.data(), packed.size(), kUntouched);
      kernels.pack(made.run, columns, first, depth, packed.data());
      for (std::int64_t j = 0; j < depth; ++j) {
        for (std::int64_t c = 0; c < padded; ++c) {
          const bool inside = j >= first && j < first + count;
          const float expected = !inside ? kUntouched : c < columns ? made.expected[(j - first) * columns + c] : 0.0f;
          ASSERT_EQ(packed[panel_index(depth, j, c, width)], expected) << "row " << j << " column " << c;
        }
      }
    }
  });
}

TEST_P(Kernels, ScaleMultipliesAtEveryLength) {
  for (std::int64_t count = 0; count < 70; ++count) {
    Buffer<float> values = floats(count + 1, 1);
    const Buffer<float> before = floats(count + 1, 1);
    kernels.scale(values.data(), count, 0.37f);
    for (std::int64_t i = 0; i <= count; ++i) ASSERT_EQ(values[i], i < count ? before[i] * 0.37f : before[i]);
  }
}

TEST_P(Kernels, SubtractDistancesIsALinearPenaltyOnBothSides) {
  for (const float start : {0.0f, 5.0f, 33.0f, -7.0f, 16777000.0f, -16777000.0f}) {
    for (std::int64_t count = 0; count < 70; ++count) {
      Buffer<float> scores = floats(count + 1, 1);
      const Buffer<float> before = floats(count + 1, 1);
      kernels.subtract_distances(scores.data(), count, 0.37f, start);
      for (std::int64_t i = 0; i < count; ++i)
        ASSERT_EQ(scores[i], before[i] - 0.37f * std::abs(start - static_cast<float>(i))) << start << " key " << i;
      ASSERT_EQ(scores[count], before[count]);
    }
  }
}

TEST_P(Kernels, AddBiasAddsAndHidesWhereItIsMinusInfinity) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
    for (std::int64_t count = 0; count < 70; ++count) {
      for (std::int64_t hidden = -1; hidden < count; ++hidden) {
        cases::Array bias = cases::random_array(Dtype::float16, count, 3, 5);
        cases::Array stored(dtype, count);
        for (std::int64_t i = 0; i < count; ++i) stored.set(i, i == hidden ? -kInfinity : bias.get(i));
        Buffer<float> scores = floats(count + 1, 1);
        const Buffer<float> before = floats(count + 1, 1);
        if (hidden >= 0) scores[hidden] = std::numeric_limits<float>::quiet_NaN();
        ASSERT_EQ(kernels.add_bias(stored.view(), count, scores.data()), hidden >= 0);
        for (std::int64_t i = 0; i <= count; ++i) {
          const float sum = i < count ? before[i] + static_cast<float>(bias.get(i)) : before[i];
          ASSERT_EQ(scores[i], i == hidden ? -kInfinity : sum) << "key " << i << " of " << count;
        }
      }
    }
  }
}

TEST_P(Kernels, HideReplacesScoresAndTellsWhetherAnyIsLeft) {
  for (std::int64_t count = 0; count < 70; ++count) {
    for (std::int64_t shown = -1; shown < count; ++shown) {
      Buffer<float> scores = floats(count + 1, 1);
      const Buffer<float> before = floats(count + 1, 1);
      std::vector<std::uint8_t> visible(static_cast<std::size_t>(count + 1), 0);
      if (shown >= 0) visible[shown] = 1;
      visible[count] = 1;  // not asked for
      for (std::int64_t i = 0; i < count; ++i)
        if (i % 3 == 0) scores[i] = std::numeric_limits<float>::quiet_NaN();
      if (shown >= 0) scores[shown] = before[shown];
      ASSERT_EQ(kernels.hide(scores.data(), visible.data(), count), shown >= 0);
      for (std::int64_t i = 0; i <= count; ++i)
        ASSERT_EQ(scores[i], i == shown || i == count ? before[i] : -kInfinity) << "key " << i << " of " << count;
    }
  }
}

/// Calls visit(x) for floats of every exponent between two bit patterns of one sign.
template <class Visit>
void for_each_float(float smallest, float largest, std::uint32_t step, Visit visit) {
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(smallest); bits < std::bit_cast<std::uint32_t>(largest);
       bits += step)
    visit(std::bit_cast<float>(bits));
}

/// Applies `function` to all of `arguments`, padded to whole vectors.
template <class Function>
std::vector<float> apply(const KernelTable& kernels, const std::vector<float>& arguments, Function function) {
  std::vector<float> values = arguments;
  values.resize(round_up(static_cast<std::int64_t>(values.size()), kernels.lanes), 0.0f);
  function(values.data(), static_cast<std::int64_t>(values.size()));
  values.resize(arguments.size());
  return values;
}

// 2 ulp are 4 eps relative at most. Below 2^-114 the result may be 0.
TEST_P(Kernels, ExponentialsAreWithinTwoUlpOverTheWholeRange) {
  std::vector<float> arguments = {0.0f,    -0.0f,   88.0f,   -87.0f, -87.33f,    -79.36f,
                                  -79.37f, -79.72f, -104.0f, -1e30f, -kInfinity, std::numeric_limits<float>::lowest()};
  for_each_float(-0x1p-149f, -200.0f, 4099, [&](float x) { arguments.push_back(x); });
  for_each_float(0x1p-149f, 88.0f, 4099, [&](float x) { arguments.push_back(x); });
  const std::vector<float> values = apply(
      kernels, arguments, [&](float* data, std::int64_t count) { kernels.exponentials(data, count, 0.0f, 1.0f); });
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const double expected = std::exp(static_cast<double>(arguments[i]));
    ASSERT_NEAR(values[i], expected, 4 * kEpsilon * expected + (expected < kFlushed ? kFlushed : 0))
        << "exp(" << arguments[i] << ")";
  }
}

TEST_P(Kernels, ExponentialsBelowTwoToTheMinus114AreZeroNeverSmaller) {
  std::vector<float> arguments;
  for_each_float(-79.0f, -200.0f, 17, [&](float x) { arguments.push_back(x); });
  const std::vector<float> values = apply(
      kernels, arguments, [&](float* data, std::int64_t count) { kernels.exponentials(data, count, 0.0f, 1.0f); });
  for (std::size_t i = 0; i < arguments.size(); ++i)
    ASSERT_TRUE(values[i] == 0.0f || values[i] > 0x1p-115f) << "exp(" << arguments[i] << ") = " << values[i];
  EXPECT_EQ(values.back(), 0.0f);
}

TEST_P(Kernels, ExponentialsShiftAndScale) {
  const std::vector<float> arguments = {1.0f, 2.5f, -3.0f, -kInfinity, 2.5f};
  const std::vector<float> values = apply(
      kernels, arguments, [&](float* data, std::int64_t count) { kernels.exponentials(data, count, 2.5f, 0.5f); });
  for (std::size_t i = 0; i < arguments.size(); ++i)
    EXPECT_NEAR(values[i], 0.5 * std::exp(arguments[i] - 2.5), 6 * kEpsilon);
  EXPECT_EQ(values[3], 0.0f);
}

// Relative, whatever the size of x: near 0 an absolute error would be worthless.
TEST_P(Kernels, GradientStepGivesWeightsAndGradients) {
  const std::int64_t count = 4 * kernels.lanes;
  const Buffer<float> drawn = floats(count, 4), products = floats(count, 5);
  Buffer<float> weights = floats(count, 4), gradients = floats(count, 5);
  const float lse = 1.5f, delta = 0.25f, gain = -0.5f;
  const float reached = kernels.gradient_step(weights.data(), gradients.data(), count, lse, delta, gain);
  double sum = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    const double weight = std::exp(static_cast<double>(drawn[j]) - lse);
    EXPECT_NEAR(weights[j], weight, 6 * kEpsilon * weight);
    const double gradient = weight * (static_cast<double>(gain) * products[j] - delta);
    EXPECT_NEAR(gradients[j], gradient, 10 * kEpsilon * weight);
    sum += weight * products[j];
  }
  EXPECT_NEAR(reached, sum, static_cast<double>(count) * kEpsilon * static_cast<double>(count));
}

TEST_P(Kernels, GradientStepIsZeroAtHiddenScoresWhateverElseIsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::int64_t count = 2 * kernels.lanes;
  for (const float other : {nan, kInfinity, -kInfinity, 1.0f}) {
    Buffer<float> weights = floats(count, 4), gradients = floats(count, 5);
    for (std::int64_t j = 0; j < count; ++j) weights[j] = -kInfinity, gradients[j] = other;
    EXPECT_EQ(kernels.gradient_step(weights.data(), gradients.data(), count, other, other, 1.0f), 0.0f);
    for (std::int64_t j = 0; j < count; ++j) {
      EXPECT_EQ(weights[j], 0.0f);
      EXPECT_EQ(gradients[j], 0.0f);
    }
  }
  Buffer<float> weights = floats(count, 4), gradients = floats(count, 5);
  weights[1] = nan;
  kernels.gradient_step(weights.data(), gradients.data(), count, 0.0f, 0.0f, 1.0f);
  for (std::int64_t j = 0; j < count; ++j) EXPECT_EQ(std::isnan(gradients[j]), j == 1);
}

TEST_P(Kernels, SoftcapIsWithinTwoUlpOfTanhOverTheWholeRange) {
  std::vector<float> arguments = {0.0f, 9.0f, 10.0f, 1e30f, std::numeric_limits<float>::max(), kInfinity};
  for_each_float(0x1p-120f, 40.0f, 4099, [&](float x) { arguments.push_back(x); });
  const std::size_t positives = arguments.size();
  for (std::size_t i = 0; i < positives; ++i) arguments.push_back(-arguments[i]);
  const std::vector<float> values =
      apply(kernels, arguments, [&](float* data, std::int64_t count) { kernels.softcap(data, count, 1.0f); });
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const double expected = std::tanh(static_cast<double>(arguments[i]));
    ASSERT_NEAR(values[i], expected, 4 * kEpsilon * std::abs(expected)) << "tanh(" << arguments[i] << ")";
  }
}

TEST_P(Kernels, SoftcapIsAsExactWithACapOfAnySize) {
  for (const float cap : {0x1p-126f, 1e-30f, 1e20f, 1e37f, std::numeric_limits<float>::max()}) {
    std::vector<float> scores;
    for_each_float(0x1p-120f, 0x1p127f, 4099, [&](float x) { scores.push_back(x); });
    const std::vector<float> values =
        apply(kernels, scores, [&](float* data, std::int64_t count) { kernels.softcap(data, count, cap); });
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double wide = cap, expected = wide * std::tanh(scores[i] / wide);
      ASSERT_NEAR(values[i], expected, 6 * kEpsilon * std::abs(expected)) << scores[i] << " capped at " << cap;
    }
  }
}

TEST_P(Kernels, SoftcapStaysWithinItsCapAndKeepsNaN) {
  const std::vector<float> arguments = {-1e9f, -31.0f, 0.5f, 31.0f, 1e9f, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> values =
      apply(kernels, arguments, [&](float* data, std::int64_t count) { kernels.softcap(data, count, 30.0f); });
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) EXPECT_LE(std::abs(values[i]), 30.0f);
  EXPECT_NEAR(values[3], 30.0 * std::tanh(31.0 / 30.0), 30.0 * 12 * kEpsilon);
  EXPECT_TRUE(std::isnan(values.back()));
}

std::string table_name(const testing::TestParamInfo<const KernelTable*>& info) {
  return std::string(info.param->name) + info.param->block;
}

INSTANTIATE_TEST_SUITE_P(Tables, Kernels, testing::ValuesIn(kernel_tables()), table_name);

}  // namespace headwise::test_kernels
