// The best rates of this engine on this machine: floating-point operations, and bytes read from a buffer of a given
// size. Every probe has several forms, because a compiler may be bad at one of them; the best form counts.
//
// The hot loop is a function that is called every few microseconds through a table of pointers. V8 replaces a wasm
// function by its optimised version only at the next call, and it does not inline a function that is called through a
// table.

#include <wasm_simd128.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "headwise/thread_pool.h"

namespace {

using Clock = std::chrono::steady_clock;

v128_t multiply_add(v128_t a, v128_t b, v128_t sum) {
#ifdef __wasm_relaxed_simd__
  return wasm_f32x4_relaxed_madd(a, b, sum);
#else
  return wasm_f32x4_add(wasm_f32x4_mul(a, b), sum);
#endif
}

constexpr int DEPTH = 192;         // steps of one call
constexpr int PANEL = DEPTH * 16;  // floats that a call may read: they fit the first-level cache

/// The inner loop of a matrix product: `rows` broadcast numbers times `vectors` vectors of four columns, at each step.
template <int rows, int vectors>
void product(const float* left, const float* right, float* sums) {
  v128_t sum[rows][vectors];
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) sum[r][v] = wasm_v128_load(sums + 4 * (r * vectors + v));
  for (int step = 0; step < DEPTH; ++step, left += rows, right += 4 * vectors) {
    v128_t column[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) column[v] = wasm_v128_load(right + 4 * v);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      const v128_t broadcast = wasm_v128_load32_splat(left + r);
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) sum[r][v] = multiply_add(broadcast, column[v], sum[r][v]);
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) wasm_v128_store(sums + 4 * (r * vectors + v), sum[r][v]);
}

/// Works in registers only: `chains` independent sums.
template <int chains>
void registers(const float* left, const float* right, float* sums) {
  v128_t sum[chains];
#pragma clang loop unroll(full)
  for (int c = 0; c < chains; ++c) sum[c] = wasm_v128_load(sums + 4 * c);
  const v128_t factor = wasm_v128_load(left);
  const v128_t term = wasm_v128_load(right);
  for (int step = 0; step < DEPTH; ++step)
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c) sum[c] = multiply_add(factor, sum[c], term);
#pragma clang loop unroll(full)
  for (int c = 0; c < chains; ++c) wasm_v128_store(sums + 4 * c, sum[c]);
}

struct ComputeForm {
  void (*enter)(const float*, const float*, float*);
  int sums;  // number of vectors; each is updated once in a step
};

const ComputeForm COMPUTE[] = {{product<4, 2>, 8},  {product<2, 4>, 8},  {product<3, 3>, 9},  {product<6, 1>, 6},
                               {product<6, 2>, 12}, {product<4, 4>, 16}, {product<6, 4>, 24}, {registers<8>, 8},
                               {registers<12>, 12}, {registers<16>, 16}};
constexpr int COMPUTE_FORMS = sizeof COMPUTE / sizeof *COMPUTE;

constexpr std::int64_t CHUNK = 4096;  // floats that one call reads

/// Adds up a chunk in `chains` sums: one load and one addition for 16 bytes.
template <int chains>
v128_t read_sum(const float* data) {
  v128_t sum[chains];
#pragma clang loop unroll(full)
  for (int c = 0; c < chains; ++c) sum[c] = wasm_f32x4_splat(0);
  for (int k = 0; k < CHUNK; k += 4 * chains)
#pragma clang loop unroll(full)
    for (int c = 0; c < chains; ++c) sum[c] = wasm_f32x4_add(sum[c], wasm_v128_load(data + k + 4 * c));
  for (int c = 1; c < chains; ++c) sum[0] = wasm_f32x4_add(sum[0], sum[c]);
  return sum[0];
}

/// The same, from four places at the same time, as attention reads several rows. This uses more prefetchers.
v128_t read_four(const float* data) {
  constexpr int QUARTER = CHUNK / 4;
  v128_t sum[4] = {};
  for (int k = 0; k < QUARTER; k += 4)
#pragma clang loop unroll(full)
    for (int c = 0; c < 4; ++c) sum[c] = wasm_f32x4_add(sum[c], wasm_v128_load(data + c * QUARTER + k));
  return wasm_f32x4_add(wasm_f32x4_add(sum[0], sum[1]), wasm_f32x4_add(sum[2], sum[3]));
}

using ReadForm = v128_t (*)(const float*);
const ReadForm READ[] = {read_sum<4>, read_sum<8>, read_four};
constexpr int READ_FORMS = sizeof READ / sizeof *READ;

std::unique_ptr<headwise::ThreadPool> pool;
std::vector<float> buffer;
volatile float sink;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

extern "C" {

void start(int threads) { pool = std::make_unique<headwise::ThreadPool>(threads); }

int compute_forms() { return COMPUTE_FORMS; }
int read_forms() { return READ_FORMS; }

/// Floating-point operations per second of all threads together. Runs `form` for about `seconds`.
double compute_rate(int form, double seconds) {
  const ComputeForm& chosen = COMPUTE[form];
  std::vector<double> rates(static_cast<std::size_t>(pool->size()));
  pool->parallel_for(pool->size(), [&](std::int64_t index, int) {
    const std::vector<float> left(PANEL, 0.5f), right(PANEL, 0.25f);
    std::vector<float> sums(24 * 4, 1.0f);
    std::int64_t entries = 0;
    const auto begin = Clock::now();
    do {
      for (int k = 0; k < 16; ++k) chosen.enter(left.data(), right.data(), sums.data());
      entries += 16;
    } while (seconds_since(begin) < seconds);
    const double operations = static_cast<double>(entries) * DEPTH * chosen.sums * 4 * 2;
    rates[static_cast<std::size_t>(index)] = operations / seconds_since(begin);
    sink = sums[0];
  });
  double total = 0;
  for (const double rate : rates) total += rate;
  return total;
}

/// Bytes per second of all threads together. Reads a buffer of `bytes` for about `seconds`, at least once. Returns 0 if
/// there is not enough memory.
double read_rate(int form, double bytes, double seconds) {
  const std::int64_t chunks = static_cast<std::int64_t>(bytes / (CHUNK * sizeof(float))) + 1;
  const std::size_t size = static_cast<std::size_t>(chunks * CHUNK);
  if (buffer.size() < size) {
    buffer = {};  // frees it before the larger one is made
    buffer.resize(size, 1.0f);
  }
  const ReadForm read = READ[form];
  const std::int64_t tasks = pool->size();
  std::int64_t passes = 0;
  const auto begin = Clock::now();
  do {
    pool->parallel_for(tasks, [&](std::int64_t index, int) {
      v128_t sum = wasm_f32x4_splat(0);
      const std::int64_t last = chunks * (index + 1) / tasks;
      for (std::int64_t chunk = chunks * index / tasks; chunk < last; ++chunk)
        sum = wasm_f32x4_add(sum, read(buffer.data() + chunk * CHUNK));
      sink = wasm_f32x4_extract_lane(sum, 0);
    });
    ++passes;
  } while (seconds_since(begin) < seconds);
  return static_cast<double>(passes) * static_cast<double>(size * sizeof(float)) / seconds_since(begin);
}

}  // extern "C"
