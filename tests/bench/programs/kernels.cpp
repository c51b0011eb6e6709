// The time of a call and of each function of the kernel table, without copies, on one thread. See kernels.mjs. Calls
// use the table that wins a race, as in the engine; products are timed with every table.
//
// A time is the best of several stretches. With arguments, only lines that contain one of these texts are measured.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention/plan.h"
#include "base/memory.h"
#include "headwise/attention.h"
#include "headwise/backward.h"
#include "headwise/formula.h"
#include "headwise/kv_cache.h"
#include "headwise/thread_pool.h"
#include "kernel/block_race.h"
#include "kernel/kernel_table.h"

namespace headwise {
namespace {

std::string filter;

Buffer<float> noise(std::int64_t count) {
  Buffer<float> values;
  if (!values.allocate(count)) std::abort();
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

/// Seconds of one run, in the fastest of 12 stretches of at least 30 ms.
template <class Run>
double seconds(Run run) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int stretch = 0; stretch < 12; ++stretch) {
    const auto start = Clock::now();
    double elapsed = 0;
    int runs = 0;
    for (; elapsed < 0.03; elapsed = std::chrono::duration<double>(Clock::now() - start).count(), ++runs) run();
    best = std::min(best, elapsed / runs);
  }
  return best;
}

bool is_wanted(const std::string& name) { return name.find(filter) != std::string::npos; }

template <class Run>
void line(const std::string& name, double operations, Run run) {
  if (!is_wanted(name)) return;
  const double time = seconds(run);
  std::printf("%-8s %-38s %11.2f us", kernel_table().name, name.c_str(), time * 1e6);
  if (operations > 0) std::printf("  %6.1f GFLOP/s", operations / time * 1e-9);
  std::printf("\n");
  std::fflush(stdout);
}

struct Case {
  const char* name;
  std::int64_t heads, kv_heads, queries, keys, dim;
  bool causal = false;
  std::int64_t window = 0;  // if causal: number of keys up to the query's own
  std::optional<Dtype> cache = {};
};

constexpr Case kCases[] = {
    {"12 x 128 x 64", 12, 12, 128, 128, 64},
    {"12 x 197 x 64", 12, 12, 197, 197, 64},
    {"12 x 512 x 64", 12, 12, 512, 512, 64},
    {"8 x 2048 x 64", 8, 8, 2048, 2048, 64},
    {"8 x 2048 x 128", 8, 8, 2048, 2048, 128},
    {"causal 12 x 1024 x 64", 12, 12, 1024, 1024, 64, true},
    {"causal 32/8 x 2048 x 128", 32, 8, 2048, 2048, 128, true},
    {"window 256 of 8 x 4096 x 64", 8, 8, 4096, 4096, 64, true, 256},
    {"decode 8/8 x 8192 x 128", 8, 8, 1, 8192, 128},
    {"decode 16/8 x 8192 x 128", 16, 8, 1, 8192, 128},
    {"decode 24/8 x 8192 x 128", 24, 8, 1, 8192, 128},
    {"decode 32/8 x 8192 x 128", 32, 8, 1, 8192, 128},
    {"decode 48/8 x 8192 x 128", 48, 8, 1, 8192, 128},
    {"decode 64/8 x 8192 x 128", 64, 8, 1, 8192, 128},
    {"decode 96/8 x 8192 x 128", 96, 8, 1, 8192, 128},
    {"decode 128/8 x 8192 x 128", 128, 8, 1, 8192, 128},
    {"decode 160/8 x 8192 x 128", 160, 8, 1, 8192, 128},
    {"decode 32/8 x 8192 x 128 float32 cache", 32, 8, 1, 8192, 128, false, 0, Dtype::float32},
    {"decode 32/8 x 8192 x 128 float16 cache", 32, 8, 1, 8192, 128, false, 0, Dtype::float16},
    {"decode 32/8 x 8192 x 128 int8 cache", 32, 8, 1, 8192, 128, false, 0, Dtype::int8},
    {"decode 64/8 x 8192 x 64", 64, 8, 1, 8192, 64},
    {"decode 96/8 x 8192 x 64", 96, 8, 1, 8192, 64},
    {"decode 128/8 x 8192 x 64", 128, 8, 1, 8192, 64},
};

void report(const Status& status) {
  if (!status.ok()) std::puts(status.message().text);
}

void time_call(ThreadPool& pool, const Case& c) {
  const std::string name = std::string("call ") + c.name;
  if (!is_wanted(name)) return;
  AttentionShape shape;
  shape.num_heads = c.heads, shape.num_kv_heads = c.kv_heads;
  shape.query_length = c.queries, shape.key_length = c.keys;
  shape.head_dim = shape.value_dim = c.dim;
  const Buffer<float> query = noise(c.heads * c.queries * c.dim), key = noise(c.kv_heads * c.keys * c.dim);
  const Buffer<float> value = noise(c.kv_heads * c.keys * c.dim);
  Buffer<float> output = noise(c.heads * c.queries * c.dim);
  AttentionInputs inputs;
  inputs.query.data = query.data(), inputs.key.data = key.data(), inputs.value.data = value.data();
  AttentionOptions options;
  if (c.causal) options.causal = Causal::lower_right;
  if (c.window > 0) options.window_left = c.window - 1;
  AttentionOutputs outputs;
  outputs.output.data = output.data();
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < c.queries; ++i)
    pairs += c.window > 0 ? std::min(i + 1, c.window) : c.causal ? i + 1 : c.keys;
  std::unique_ptr<KvCache> cache;
  if (c.cache) {
    report(KvCache::create({.num_kv_heads = c.kv_heads, .head_dim = c.dim, .value_dim = c.dim, .dtype = *c.cache},
                           &cache));
    report(cache->append(pool, {Layout::bhsd, c.keys, inputs.key, inputs.value, nullptr}));
    shape.key_length = 0;
  }
  line(name, 4.0 * static_cast<double>(c.heads * pairs * c.dim), [&] {
    report(cache ? cache->attend(pool, shape, inputs, options, outputs)
                 : attention(pool, shape, inputs, options, outputs));
  });
}

/// Gradients of queries, keys and values: five products, 2.5 times the operations of the call.
void time_gradients(ThreadPool& pool, const Case& c) {
  const std::string name = std::string("gradients ") + c.name;
  if (!is_wanted(name) || c.queries != c.keys) return;
  AttentionShape shape;
  shape.num_heads = c.heads, shape.num_kv_heads = c.kv_heads;
  shape.query_length = shape.key_length = c.keys;
  shape.head_dim = shape.value_dim = c.dim;
  const std::int64_t queries = c.heads * c.queries * c.dim, keys = c.kv_heads * c.keys * c.dim;
  const Buffer<float> query = noise(queries), key = noise(keys), value = noise(keys), output_gradient = noise(queries);
  Buffer<float> output = noise(queries), lse = noise(c.heads * c.queries);
  Buffer<float> query_gradient = noise(queries), key_gradient = noise(keys), value_gradient = noise(keys);
  BackwardInputs inputs;
  inputs.forward.query.data = query.data(), inputs.forward.key.data = key.data();
  inputs.forward.value.data = value.data();
  inputs.output.data = output.data(), inputs.lse = lse.data(), inputs.output_gradient.data = output_gradient.data();
  AttentionOptions options;
  if (c.causal) options.causal = Causal::lower_right;
  if (c.window > 0) options.window_left = c.window - 1;
  AttentionOutputs forward;
  forward.output.data = output.data(), forward.lse = lse.data();
  report(attention(pool, shape, inputs.forward, options, forward));
  BackwardOutputs outputs;
  outputs.query = query_gradient.data(), outputs.key = key_gradient.data(), outputs.value = value_gradient.data();
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < c.queries; ++i)
    pairs += c.window > 0 ? std::min(i + 1, c.window) : c.causal ? i + 1 : c.keys;
  line(name, 10.0 * static_cast<double>(c.heads * pairs * c.dim),
       [&] { report(attention_backward(pool, shape, inputs, options, outputs)); });
}

/// A formula and what keeps its arrays.
struct WrittenFormula {
  std::vector<FormulaInstruction> code;
  std::vector<float> numbers, values;
  std::vector<FormulaTable> tables;
  std::vector<FormulaBound> bounds;

  std::int32_t add(FormulaOperation operation, std::int32_t a, std::int32_t b = -1, std::int32_t c = -1) {
    code.push_back({operation, a, b, c});
    return static_cast<std::int32_t>(code.size()) - 1;
  }
  std::int32_t variable(FormulaVariable variable) {
    return add(FormulaOperation::variable, static_cast<std::int32_t>(variable));
  }
  std::int32_t number(float value) {
    numbers.push_back(value);
    return add(FormulaOperation::number, static_cast<std::int32_t>(numbers.size()) - 1);
  }
  std::int32_t table(std::int32_t rows, std::int32_t columns, float (*value)(std::int32_t)) {
    for (std::int32_t n = 0; n < rows * columns; ++n) values.push_back(value(n));
    tables.push_back({nullptr, rows, columns});
    return static_cast<std::int32_t>(tables.size()) - 1;
  }
  Formula formula(bool bounds_alone = false) {
    const float* at = values.data();
    for (FormulaTable& each : tables) each.data = at, at += each.rows * each.columns;
    const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
    const std::int32_t result = bounds_alone ? -1 : static_cast<std::int32_t>(code.size()) - 1;
    return {code.data(),   count(code),   result,        numbers.data(), count(numbers),
            tables.data(), count(tables), bounds.data(), count(bounds)};
  }
};

/// Calls with a formula beside calls with the option that says the same, or with none.
void time_formulas(ThreadPool& pool) {
  using Op = FormulaOperation;
  using Var = FormulaVariable;
  const auto time = [&](const std::string& name, std::int64_t heads, std::int64_t length, auto set) {
    if (!is_wanted("formula " + name)) return;
    AttentionShape shape;
    shape.num_heads = shape.num_kv_heads = heads;
    shape.query_length = shape.key_length = length;
    shape.head_dim = shape.value_dim = 64;
    const std::int64_t size = heads * length * 64;
    const Buffer<float> query = noise(size), key = noise(size), value = noise(size);
    Buffer<float> output = noise(size);
    AttentionInputs inputs;
    inputs.query.data = query.data(), inputs.key.data = key.data(), inputs.value.data = value.data();
    AttentionOptions options;
    AttentionOutputs outputs;
    outputs.output.data = output.data();
    WrittenFormula f;
    Formula formula;
    set(options, f, formula);
    line("formula " + name, 0, [&] { report(attention(pool, shape, inputs, options, outputs)); });
  };
  using Options = AttentionOptions;
  const auto distance = [](WrittenFormula& f) { return f.add(Op::subtract, f.variable(Var::q), f.variable(Var::k)); };
  const auto score = [](Options& options, WrittenFormula& f, Formula& formula) {
    formula = f.formula();
    options.score = &formula;
  };
  time("none 12 x 512", 12, 512, [](Options&, WrittenFormula&, Formula&) {});
  time("s 12 x 512", 12, 512, [&](Options& options, WrittenFormula& f, Formula& formula) {
    f.variable(Var::s);
    score(options, f, formula);
  });
  static const std::vector<float> slopes(12, 0.1f);
  time("option alibi 12 x 512", 12, 512,
       [](Options& options, WrittenFormula&, Formula&) { options.alibi_slopes = slopes.data(); });
  time("s - slope[h] abs(q - k) 12 x 512", 12, 512, [&](Options& options, WrittenFormula& f, Formula& formula) {
    const std::int32_t s = f.variable(Var::s);
    const std::int32_t slopes_table = f.table(1, 12, [](std::int32_t n) { return 0.1f * static_cast<float>(n); });
    const std::int32_t slope = f.add(Op::table1, slopes_table, f.variable(Var::h));
    f.add(Op::subtract, s, f.add(Op::multiply, slope, f.add(Op::abs, distance(f))));
    score(options, f, formula);
  });
  time("four of s 12 x 512", 12, 512, [&](Options& options, WrittenFormula& f, Formula& formula) {
    // (s a + b) s - c
    const std::int32_t s = f.variable(Var::s);
    const std::int32_t inner = f.add(Op::add, f.add(Op::multiply, s, f.number(0.5f)), f.number(1.5f));
    f.add(Op::subtract, f.add(Op::multiply, inner, s), f.number(0.25f));
    score(options, f, formula);
  });
  time("option softcap 12 x 512", 12, 512,
       [](Options& options, WrittenFormula&, Formula&) { options.softcap = 20.0f; });
  time("20 tanh(s / 20) 12 x 512", 12, 512, [&](Options& options, WrittenFormula& f, Formula& formula) {
    const std::int32_t s = f.variable(Var::s), cap = f.number(20.0f);
    f.add(Op::multiply, cap, f.add(Op::tanh, f.add(Op::divide, s, cap)));
    score(options, f, formula);
  });
  time("s + bias[h][bucket[q - k + 511]] 12 x 512", 12, 512,
       [&](Options& options, WrittenFormula& f, Formula& formula) {
         const std::int32_t s = f.variable(Var::s);
         const std::int32_t buckets = f.table(1, 1023, [](std::int32_t n) { return static_cast<float>(n % 32); });
         const std::int32_t biases = f.table(12, 32, [](std::int32_t n) { return 0.01f * static_cast<float>(n); });
         const std::int32_t bucket = f.add(Op::table1, buckets, f.add(Op::add, distance(f), f.number(511.0f)));
         f.add(Op::add, s, f.add(Op::table2, biases, f.variable(Var::h), bucket));
         score(options, f, formula);
       });
  time("s + t[q][k] 12 x 512", 12, 512, [&](Options& options, WrittenFormula& f, Formula& formula) {
    const std::int32_t s = f.variable(Var::s);
    const std::int32_t biases = f.table(512, 512, [](std::int32_t n) { return 1e-5f * static_cast<float>(n); });
    const std::int32_t q = f.variable(Var::q);
    f.add(Op::add, s, f.add(Op::table2, biases, q, f.variable(Var::k)));
    score(options, f, formula);
  });
  time("s + t[floor(s + 9)] 12 x 512", 12, 512, [&](Options& options, WrittenFormula& f, Formula& formula) {
    const std::int32_t s = f.variable(Var::s);
    const std::int32_t values = f.table(1, 32, [](std::int32_t n) { return 0.1f * static_cast<float>(n); });
    f.add(Op::add, s, f.add(Op::table1, values, f.add(Op::floor, f.add(Op::add, s, f.number(9.0f)))));
    score(options, f, formula);
  });
  time("exp(s) 12 x 512", 12, 512, [&](Options& options, WrittenFormula& f, Formula& formula) {
    f.add(Op::exp, f.variable(Var::s));
    score(options, f, formula);
  });
  time("all of 0 < 1 + q k 12 x 512", 12, 512, [&](Options& options, WrittenFormula& f, Formula& formula) {
    const std::int32_t product = f.add(Op::multiply, f.variable(Var::q), f.variable(Var::k));
    f.add(Op::less, f.number(0.0f), f.add(Op::add, f.number(1.0f), product));
    formula = f.formula();
    options.visible = &formula;
  });
  time("mixed (q + k) % 2 12 x 512", 12, 512, [&](Options& options, WrittenFormula& f, Formula& formula) {
    const std::int32_t sum = f.add(Op::add, f.variable(Var::q), f.variable(Var::k));
    f.add(Op::remainder, sum, f.number(2.0f));
    formula = f.formula();
    options.visible = &formula;
  });
  time("option causal 12 x 1024", 12, 1024,
       [](Options& options, WrittenFormula&, Formula&) { options.causal = Causal::upper_left; });
  time("k <= q 12 x 1024", 12, 1024, [&](Options& options, WrittenFormula& f, Formula& formula) {
    f.bounds.push_back({0, 1, -1, f.variable(Var::q), 0});
    formula = f.formula(true);
    options.visible = &formula;
  });
  time("k <= q + 0 k, which is no bound, 12 x 1024", 12, 1024,
       [&](Options& options, WrittenFormula& f, Formula& formula) {
         f.add(Op::less_or_equal, f.variable(Var::k), f.variable(Var::q));
         formula = f.formula();
         options.visible = &formula;
       });
  time("none 12 x 2048", 12, 2048, [](Options&, WrittenFormula&, Formula&) {});
  time("16 documents 12 x 2048", 12, 2048, [&](Options& options, WrittenFormula& f, Formula& formula) {
    const std::int32_t documents = f.table(1, 2048, [](std::int32_t n) { return static_cast<float>(n / 128); });
    const std::int32_t of_query = f.add(Op::table1, documents, f.variable(Var::q));
    f.add(Op::equal, of_query, f.add(Op::table1, documents, f.variable(Var::k)));
    formula = f.formula();
    options.visible = &formula;
  });
  time("16 documents and k <= q 12 x 2048", 12, 2048, [&](Options& options, WrittenFormula& f, Formula& formula) {
    const std::int32_t documents = f.table(1, 2048, [](std::int32_t n) { return static_cast<float>(n / 128); });
    const std::int32_t q = f.variable(Var::q);
    f.bounds.push_back({0, 1, -1, q, 0});
    const std::int32_t of_query = f.add(Op::table1, documents, q);
    f.add(Op::equal, of_query, f.add(Op::table1, documents, f.variable(Var::k)));
    formula = f.formula();
    options.visible = &formula;
  });
}

double milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

/// The tables that give the same bits as the first one.
std::vector<const KernelTable*> equal_tables() {
  std::vector<const KernelTable*> tables;
  for (int index = 0; const KernelTable* table = kernel_table_at(index); ++index)
    if (std::strcmp(table->name, kernel_table_at(0)->name) == 0) tables.push_back(table);
  return tables;
}

/// Computes with the table that the engine would choose: makes calls until the races are over.
void choose_table(ThreadPool& pool) {
  AttentionShape shape;
  shape.query_length = shape.key_length = 256;
  shape.head_dim = shape.value_dim = 64;
  const Buffer<float> input = noise(256 * 64);
  Buffer<float> output = noise(256 * 64);
  AttentionInputs inputs;
  inputs.query.data = inputs.key.data = inputs.value.data = input.data();
  AttentionOutputs outputs;
  outputs.output.data = output.data();
  if (equal_tables().size() < 2) return;
  BlockRace race(equal_tables(), milliseconds);
  for (int races = 0; races < BlockRace::kRaces;) {
    const double start = milliseconds();
    if (const KernelTable* winner = race.before_call()) {
      use_kernel_table(winner);
      std::printf("race of %.2f ms: %s\n", milliseconds() - start, winner->block);
      ++races;
    }
    static_cast<void>(attention(pool, shape, inputs, {}, outputs));
  }
}

/// One tile of keys; all data is in the caches.
void time_functions(std::int64_t rows, std::int64_t keys, std::int64_t dim) {
  const KernelTable& kernels = kernel_table();
  const std::int64_t width = kernels.panel_width;
  const Buffer<float> query = noise(rows * dim), stored = noise(keys * dim), fresh = noise(rows * keys);
  Buffer<float> scores = noise(rows * keys), out = noise(rows * dim), panels = noise(keys * dim);
  Buffer<float> products = noise(rows * keys), gradients = noise(keys * dim);
  const RowRun run{stored.data(), Dtype::float32, static_cast<std::ptrdiff_t>(dim), 1, nullptr, 0, keys};
  const double operations = 2.0 * static_cast<double>(rows * keys * dim);
  const auto name = [&](const char* what) {
    return std::string(what) + " " + std::to_string(rows) + " x " + std::to_string(keys) + " x " + std::to_string(dim);
  };
  for (const KernelTable* table : equal_tables()) {
    const auto of_block = [&](const char* what) { return name(what) + " " + table->block; };
    line(of_block("scores"), operations, [&] {
      table->multiply(query.data(), dim, panels.data(), dim * width, dim, keys / width, scores.data(), keys, rows,
                      false);
    });
    line(of_block("values"), operations, [&] {
      table->multiply(fresh.data(), keys, panels.data(), keys * width, keys, dim / width, out.data(), dim, rows, true);
    });
  }
  for (const KernelTable* table : equal_tables())
    line(name("columns of pairs") + " " + table->block, operations, [&] {
      table->multiply_transposed(fresh.data(), keys, panels.data(), rows * width, rows, dim / width, gradients.data(),
                                 dim, keys, true);
    });
  line(name("pack keys"), 0, [&] { kernels.pack_transposed(run, dim, 0, panels.data()); });
  line(name("pack values"), 0, [&] { kernels.pack(run, dim, 0, keys, panels.data()); });
  line(name("softmax, and a copy"), 0, [&] {
    std::copy_n(fresh.data(), rows * keys, scores.data());
    for (std::int64_t r = 0; r < rows; ++r) {
      float maximum = -std::numeric_limits<float>::infinity(), sum = 0.0f;
      kernels.softmax_step(scores.data() + r * keys, keys, &maximum, &sum);
    }
  });
  line(name("softmax's gradient, and two copies"), 0, [&] {
    std::copy_n(fresh.data(), rows * keys, scores.data());
    std::copy_n(fresh.data(), rows * keys, products.data());
    for (std::int64_t r = 0; r < rows; ++r)
      kernels.gradient_step(scores.data() + r * keys, products.data() + r * keys, keys, 1.0f, 0.5f, 1.0f);
  });
  line(name("a copy"), 0, [&] { std::copy_n(fresh.data(), rows * keys, scores.data()); });
}

}  // namespace
}  // namespace headwise

int main(int count, char** arguments) {
  using namespace headwise;
  if (count > 1) filter = arguments[1];
  ThreadPool pool(1);
  choose_table(pool);
  for (const Case& c : kCases) time_call(pool, c);
  for (const Case& c : kCases) time_gradients(pool, c);
  time_formulas(pool);
  for (const std::int64_t dim : {64, 128}) time_functions(32, 256, dim);
}
