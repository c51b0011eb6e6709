#include "cases.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/numbers.h"

namespace headwise::cases {
namespace {

using nlohmann::json;

enum Stream : std::uint32_t {
  query_stream = 1,
  key_stream,
  value_stream,
  mask_stream,
  bias_stream,
  special_stream,
  gradient_stream
};

std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

double fraction(std::uint32_t word) { return (word >> 8) * 0x1p-24; }

std::int64_t elements(const BroadcastExtents& extents) {
  return std::accumulate(extents.extent, extents.extent + 4, std::int64_t{1}, std::multiplies<>());
}

Dtype dtype_of(const json& object) {
  return object.value("dtype", "float32") == "float16" ? Dtype::float16 : Dtype::float32;
}

double number(const json& value) {
  if (value.is_string()) return std::strtod(value.get<std::string>().c_str(), nullptr);  // "-Infinity"
  return value.get<double>();
}

std::vector<float> floats(const json& options, const char* name) {
  std::vector<float> result;
  for (const json& value : options.value(name, json::array())) result.push_back(static_cast<float>(number(value)));
  return result;
}

std::vector<std::int32_t> integers(const json& object, const char* name) {
  return object.value(name, std::vector<std::int32_t>());
}

BroadcastExtents read_extents(const json& shape) {
  BroadcastExtents extents;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) extents.extent[4 - shape.size() + axis] = shape[axis];
  return extents;
}

AttentionShape read_shape(const json& object) {
  AttentionShape shape;
  shape.batch_size = object.value("batchSize", 1);
  shape.num_heads = object.value("numHeads", 1);
  shape.num_kv_heads = object.value("numKvHeads", shape.num_heads);
  shape.query_length = object.at("queryLength");
  shape.key_length = object.value("keyLength", shape.query_length);
  shape.head_dim = object.at("headDim");
  shape.value_dim = object.value("valueDim", shape.head_dim);
  return shape;
}

Layout read_layout(const std::string& name) {
  return name == "BSHD" ? Layout::bshd : name == "BSE" ? Layout::bse : name == "BES" ? Layout::bes : Layout::bhsd;
}

std::vector<std::uint8_t> read_mask(const json& mask, const BroadcastExtents& extents, std::uint32_t seed) {
  std::vector<std::uint8_t> visible(static_cast<std::size_t>(elements(extents)));
  const double share = mask.at("visible");
  for (std::size_t k = 0; k < visible.size(); ++k)
    visible[k] = fraction(word(seed, mask_stream, static_cast<std::uint32_t>(k))) < share;
  return visible;
}

Array read_bias(const json& bias, const BroadcastExtents& extents, std::uint32_t seed) {
  Array array = random_array(dtype_of(bias), elements(extents), seed, bias_stream, bias.value("amplitude", 1.0));
  const double hidden = bias.value("minusInfinity", 0.0), minimum = bias.value("minimum", 0.0);
  const double lowest = array.dtype() == Dtype::float16 ? -65504.0 : std::numeric_limits<float>::lowest();
  for (std::int64_t k = 0; k < array.size(); ++k) {
    const double u = fraction(word(seed, special_stream, static_cast<std::uint32_t>(k)));
    if (u < hidden)
      array.set(k, -std::numeric_limits<double>::infinity());
    else if (u < hidden + minimum)
      array.set(k, lowest);
  }
  return array;
}

void read_options(const json& options, Case& call) {
  AttentionOptions& scalars = call.scalars;
  if (options.contains("scale")) scalars.scale = static_cast<float>(number(options["scale"]));
  scalars.softcap = options.value("softcap", 0.0f);
  const std::string causal = options.value("causal", "");
  if (causal == "upper-left") scalars.causal = Causal::upper_left;
  if (causal == "lower-right") scalars.causal = Causal::lower_right;
  const json window = options.value("window", json::object());
  scalars.window_left = window.value("left", -1);
  scalars.window_right = window.value("right", -1);
  scalars.exclude_self = options.value("excludeSelf", false);
  const json dropout = options.value("dropout", json::object());
  scalars.dropout = {dropout.value("rate", 0.0), dropout.value("seed", std::uint64_t{0})};
  const std::string rows = options.value("emptyRows", "zero");
  scalars.empty_rows = rows == "nan"       ? EmptyRows::nan
                       : rows == "uniform" ? EmptyRows::uniform
                       : rows == "throw"   ? EmptyRows::fail
                                           : EmptyRows::zero;
  call.query_offset = integers(options, "queryOffset");
  call.key_lengths = integers(options, "keyLengths");
  call.query_lengths = integers(options, "queryLengths");
  call.cu_seq_lens_query = integers(options, "cuSeqLensQuery");
  call.cu_seq_lens_key = integers(options, "cuSeqLensKey");
  call.alibi_slopes = floats(options, "alibiSlopes");
  call.sinks = floats(options, "sinks");
  call.head_gain = floats(options, "headGain");
}

OwnedSelection read_selection(const json& value) {
  if (!value.is_object()) return {};
  return {integers(value, "heads"), integers(value, "queries"), value.value("average", false)};
}

Returns read_returns(const json& object) {
  Returns returns;
  returns.output = object.value("output", true);
  returns.lse = object.value("lse", true);
  returns.entropy = object.value("entropy", false);
  if (object.contains("probs")) returns.probs = read_selection(object["probs"]);
  if (object.contains("topK")) {
    const json& top = object["topK"];
    returns.top_k = read_selection(top);
    returns.k = top.is_object() ? top.at("k").get<std::int64_t>() : top.get<std::int64_t>();
  }
  if (object.contains("scores")) {
    const json& scores = object["scores"];
    returns.scores = read_selection(scores);
    const std::string stage = scores.is_object() ? scores.at("stage") : scores;
    returns.scores_stage = stage == "biased"       ? ScoreStage::biased
                           : stage == "softcapped" ? ScoreStage::softcapped
                                                   : ScoreStage::raw;
  }
  return returns;
}

Gradients read_gradients(const json& backward, const Case& call) {
  if (!backward.contains("returns"))
    return {true, true, true, call.bias.has_value(), !call.sinks.empty(), true, !call.alibi_slopes.empty()};
  const std::vector<std::string> names = backward["returns"];
  const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  return {has("dQuery"), has("dKey"),      has("dValue"),      has("dBias"),
          has("dSinks"), has("dHeadGain"), has("dAlibiSlopes")};
}

Case read_case(const json& object) {
  Case call;
  call.name = object.at("name");
  call.seed = object.at("seed");
  call.shape = read_shape(object.at("shape"));
  call.dtype = dtype_of(object);
  read_options(object.value("options", json::object()), call);
  call.scalars.layout = read_layout(object.value("layout", "BHSD"));
  call.returns = read_returns(object.value("returns", json::object()));

  const AttentionShape& s = call.shape;
  const json amplitude = object.value("amplitude", json::object());
  call.query = random_array(call.dtype, s.batch_size * s.num_heads * s.query_length * s.head_dim, call.seed,
                            query_stream, amplitude.value("query", 1.0));
  call.key = random_array(call.dtype, s.batch_size * s.num_kv_heads * s.key_length * s.head_dim, call.seed, key_stream,
                          amplitude.value("key", 1.0));
  call.value = random_array(call.dtype, s.batch_size * s.num_kv_heads * s.key_length * s.value_dim, call.seed,
                            value_stream, amplitude.value("value", 1.0));
  if (object.contains("mask")) {
    call.has_mask = true;
    call.mask_extents = read_extents(object["mask"].at("shape"));
    call.mask = read_mask(object["mask"], call.mask_extents, call.seed);
  }
  if (object.contains("bias")) {
    call.bias_extents = read_extents(object["bias"].at("shape"));
    call.bias = read_bias(object["bias"], call.bias_extents, call.seed);
  }
  const json backward = object.value("backward", json::object());
  const Dtype dtype = backward.contains("dtype") ? dtype_of(backward) : call.dtype;
  call.output_gradient = random_array(dtype, s.batch_size * s.num_heads * s.query_length * s.value_dim, call.seed,
                                      gradient_stream, backward.value("amplitude", 1.0));
  call.gradients = read_gradients(backward, call);
  return call;
}

std::vector<Case> read_table() {
  const std::string path = std::string(HEADWISE_CASES_DIR) + "/attention.json";
  std::ifstream file(path);
  const json document = json::parse(file, nullptr, false);  // without exceptions, which the tests in wasm lack
  if (document.is_discarded()) {
    std::fprintf(stderr, "%s cannot be read\n", path.c_str());
    std::exit(1);
  }
  std::vector<Case> cases;
  for (const json& object : document.at("cases")) cases.push_back(read_case(object));
  return cases;
}

template <class T>
const T* data_or_null(const std::vector<T>& values) {
  return values.empty() ? nullptr : values.data();
}

std::vector<std::int32_t> chosen(const std::vector<std::int32_t>& list, std::int64_t extent) {
  if (!list.empty()) return list;
  std::vector<std::int32_t> all(static_cast<std::size_t>(extent));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::uint32_t word(std::uint32_t seed, std::uint32_t stream, std::uint32_t k) {
  return mix(mix(8 * seed + stream) + k * 0x9e3779b9u);
}

Array::Array(Dtype dtype, std::int64_t size)
    : dtype_(dtype), size_(size), bytes_(static_cast<std::size_t>(size * (dtype == Dtype::float16 ? 2 : 4))) {}

double Array::get(std::int64_t index) const {
  if (dtype_ == Dtype::float16) {
    std::uint16_t half;
    std::memcpy(&half, bytes_.data() + index * 2, 2);
    return half_to_float(half);
  }
  float value;
  std::memcpy(&value, bytes_.data() + index * 4, 4);
  return value;
}

void Array::set(std::int64_t index, double value) {
  const auto rounded = static_cast<float>(value);
  if (dtype_ == Dtype::float16) {
    const std::uint16_t half = float_to_half(rounded);
    std::memcpy(bytes_.data() + index * 2, &half, 2);
  } else {
    std::memcpy(bytes_.data() + index * 4, &rounded, 4);
  }
}

Array random_array(Dtype dtype, std::int64_t size, std::uint32_t seed, std::uint32_t stream, double amplitude) {
  Array array(dtype, size);
  for (std::int64_t k = 0; k < size; ++k) {
    const std::uint32_t bits = word(seed, stream, static_cast<std::uint32_t>(k));
    const double value = dtype == Dtype::float16 ? (static_cast<double>(bits >> 21) - 0x1p10) * 0x1p-10
                                                 : (static_cast<double>(bits >> 8) - 0x1p23) * 0x1p-23;
    array.set(k, value * amplitude);
  }
  return array;
}

Selection OwnedSelection::view() const {
  return {data_or_null(heads), static_cast<std::int64_t>(heads.size()), data_or_null(queries),
          static_cast<std::int64_t>(queries.size()), average};
}

std::vector<std::int32_t> OwnedSelection::chosen_heads(const AttentionShape& shape) const {
  return chosen(heads, shape.num_heads);
}

std::vector<std::int32_t> OwnedSelection::chosen_queries(const AttentionShape& shape) const {
  return chosen(queries, shape.query_length);
}

std::int64_t OwnedSelection::head_extent(const AttentionShape& shape) const {
  return average ? 1 : static_cast<std::int64_t>(chosen_heads(shape).size());
}

AttentionInputs Case::inputs() const {
  AttentionInputs inputs;
  inputs.query = query.view();
  inputs.key = key.view();
  inputs.value = value.view();
  if (has_mask) inputs.mask = mask.data();
  inputs.mask_extents = mask_extents;
  if (bias) inputs.bias = bias->view();
  inputs.bias_extents = bias_extents;
  return inputs;
}

AttentionOptions Case::options() const {
  AttentionOptions options = scalars;
  options.query_offset = data_or_null(query_offset);
  options.key_lengths = data_or_null(key_lengths);
  options.query_lengths = data_or_null(query_lengths);
  options.alibi_slopes = data_or_null(alibi_slopes);
  options.alibi_query_positions = data_or_null(alibi_query_positions);
  options.alibi_key_positions = data_or_null(alibi_key_positions);
  options.sinks = data_or_null(sinks);
  options.head_gain = data_or_null(head_gain);
  options.cu_seq_lens_query = data_or_null(cu_seq_lens_query);
  options.cu_seq_lens_key = data_or_null(cu_seq_lens_key);
  options.num_sequences = cu_seq_lens_query.empty() ? 0 : static_cast<std::int64_t>(cu_seq_lens_query.size()) - 1;
  return options;
}

const std::vector<Case>& table() {
  static const std::vector<Case> cases = read_table();
  return cases;
}

const Case& named(const std::string& name) {
  for (const Case& call : table())
    if (call.name == name) return call;
  std::fprintf(stderr, "no case named %s\n", name.c_str());
  std::exit(1);
}

Results::Results(const AttentionShape& shape, const Returns& returns, Dtype output_dtype) : returns_(returns) {
  constexpr float unwritten = std::numeric_limits<float>::quiet_NaN();
  const std::int64_t rows = shape.batch_size * shape.num_heads * shape.query_length;
  if (returns.output) {
    output = Array(output_dtype, rows * shape.value_dim);
    for (std::int64_t i = 0; i < output.size(); ++i) output.set(i, unwritten);
  }
  const auto selected = [&](const OwnedSelection& selection, std::int64_t width) {
    return static_cast<std::size_t>(shape.batch_size * selection.head_extent(shape) * width) *
           selection.chosen_queries(shape).size();
  };
  if (returns.lse) lse.assign(static_cast<std::size_t>(rows), unwritten);
  if (returns.entropy) entropy.assign(static_cast<std::size_t>(rows), unwritten);
  if (returns.probs) probs.assign(selected(*returns.probs, shape.key_length), unwritten);
  if (returns.scores) scores.assign(selected(*returns.scores, shape.key_length), unwritten);
  if (returns.top_k) {
    top_k_values.assign(selected(*returns.top_k, returns.k), unwritten);
    top_k_indices.assign(top_k_values.size(), -2);
  }
  // A null pointer would mean that nobody asked: room for one more gives an empty array an address.
  for (std::vector<float>* array : {&lse, &entropy, &probs, &scores, &top_k_values}) array->reserve(array->size() + 1);
  top_k_indices.reserve(top_k_indices.size() + 1);
}

AttentionOutputs Results::view() {
  AttentionOutputs outputs;
  if (returns_.output) outputs.output = output.mutable_view();
  if (returns_.lse) outputs.lse = lse.data();
  if (returns_.entropy) outputs.entropy = entropy.data();
  if (returns_.probs) {
    outputs.probs = probs.data();
    outputs.probs_selection = returns_.probs->view();
  }
  if (returns_.scores) {
    outputs.scores = scores.data();
    outputs.scores_stage = returns_.scores_stage;
    outputs.scores_selection = returns_.scores->view();
  }
  if (returns_.top_k) {
    outputs.top_k_values = top_k_values.data();
    outputs.top_k_indices = top_k_indices.data();
    outputs.top_k = returns_.k;
    outputs.top_k_selection = returns_.top_k->view();
  }
  return outputs;
}

std::vector<std::uint8_t> Results::bits() const {
  std::vector<std::uint8_t> all = output.bytes();
  const auto append = [&](const auto& values) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    all.insert(all.end(), bytes, bytes + values.size() * sizeof(values[0]));
  };
  append(lse), append(entropy), append(probs), append(scores), append(top_k_values), append(top_k_indices);
  return all;
}

}  // namespace headwise::cases
