// Saved caches. All numbers are little-endian. A file has, in this order:
// - the positions that tokens were given, if JavaScript keeps them (web/src/cache/ownPositions.ts). They are passed
//   over: in C++ the caller has them;
// - the magic number;
// - the numbers of the header, 8 bytes each;
// - if the rotary embedding has arrays of its own: the short and the long factors, or the frequencies, 8 bytes each; or
//   the number of rows of its tables, 8 bytes, all cosines and all sines, 4 bytes each;
// - for every batch the number of tokens appended and the rotary origin, 8 bytes each;
// - for every batch that is not empty and every head: for int8 the mean of the keys; the key rows by position and, for
//   int8, the scales of their blocks; then the value rows and their scales;
// - a CRC-32 of all bytes before it, without the positions.
// Version 1 of int8 has no means, and one scale for a whole row. It is read, but no longer written. Other types still
// have version 1.

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/rules.h"
#include "headwise/kv_cache.h"
#include "position/rotary.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

// A byte beyond ASCII, both line ends and an end-of-file character: transfers in text mode damage it, as in PNG.
constexpr std::uint8_t kMagic[8] = {0x89, 'H', 'W', 'K', 'V', '\r', '\n', 0x1a};
constexpr std::int64_t kNewestVersion = 2;
constexpr std::int64_t kNumberBytes = 8;
constexpr std::int64_t kChecksumBytes = 4;

/// The version that a cache of a type is saved in.
std::int64_t version_of(Dtype dtype) { return dtype == Dtype::int8 ? 2 : 1; }

struct Header {
  std::int64_t version = 1;
  KvCacheShape shape;
  /// 0: no rotary embedding. 1 to 3: the numbers of shape.rotary follow. 2: tokens were given positions. 3: positions
  /// are places in a ring (KvCacheShape::cache_positions). 4: they are places, and there is no rotary embedding. 5 to
  /// 7: as 1 to 3, and the sections follow the other numbers.
  std::int64_t turns = 0;
  [[nodiscard]] bool has_rotary() const { return turns != 0 && turns != 4; }
  [[nodiscard]] bool has_sections() const { return turns > 4; }
  [[nodiscard]] bool has_places() const { return turns == 3 || turns == 4 || turns == 7; }
  [[nodiscard]] bool has_given_positions() const { return turns == 2 || turns == 6; }
};

/// The numbers of every header, in order. Reader, writer and counter use the same list.
template <class Stream, class AnyHeader>
void header_numbers(Stream& stream, AnyHeader& header) {
  stream.number(header.version);
  stream.number(header.shape.dtype);
  stream.number(header.shape.batch_size);
  stream.number(header.shape.num_kv_heads);
  stream.number(header.shape.head_dim);
  stream.number(header.shape.value_dim);
  stream.number(header.shape.capacity);
  stream.number(header.shape.keep_first);
  stream.number(header.shape.window);
  stream.number(header.turns);
}

/// Numbers that a scaling does not use are saved as their defaults, and -0 as 0. Equal caches then have equal files.
RotaryOptions used_numbers(const RotaryOptions& given) {
  RotaryOptions used;
  used.rotary_dim = given.rotary_dim;
  used.base = given.base;
  used.interleaved = given.interleaved;
  used.scaling = given.scaling;
  used.temporal_section = given.temporal_section;
  used.height_section = given.height_section;
  used.width_section = given.width_section;
  if (given.scaling == RotaryScaling::none) return used;
  if (given.scaling == RotaryScaling::frequencies || given.scaling == RotaryScaling::tables) {
    used.base = RotaryOptions().base;
    if (given.scaling == RotaryScaling::frequencies) used.attention_factor = given.attention_factor + 0.0;
    return used;
  }
  used.factor = given.factor;
  if (given.scaling == RotaryScaling::linear || given.scaling == RotaryScaling::ntk) return used;
  used.original_length = given.original_length;
  if (given.scaling == RotaryScaling::dynamic_ntk || given.scaling == RotaryScaling::longrope)
    used.sequence_length = given.sequence_length + 0.0;
  if (given.scaling == RotaryScaling::longrope) used.attention_factor = given.attention_factor + 0.0;
  if (given.scaling == RotaryScaling::yarn) {
    used.beta_fast = given.beta_fast;
    used.beta_slow = given.beta_slow;
    used.truncate = given.truncate;
    used.attention_factor = given.attention_factor + 0.0;
    used.mscale = given.mscale + 0.0;
    used.mscale_all_dim = given.mscale_all_dim + 0.0;
  }
  if (given.scaling == RotaryScaling::llama3) {
    used.low_freq_factor = given.low_freq_factor;
    used.high_freq_factor = given.high_freq_factor;
  }
  return used;
}

/// The numbers that follow if the cache has a rotary embedding.
template <class Stream, class AnyOptions>
void rotary_numbers(Stream& stream, AnyOptions&& rotary, bool with_sections) {
  stream.number(rotary.rotary_dim);
  stream.number(rotary.base);
  stream.number(rotary.interleaved);
  stream.number(rotary.scaling);
  stream.number(rotary.factor);
  stream.number(rotary.original_length);
  stream.number(rotary.sequence_length);
  stream.number(rotary.beta_fast);
  stream.number(rotary.beta_slow);
  stream.number(rotary.truncate);
  stream.number(rotary.attention_factor);
  stream.number(rotary.mscale);
  stream.number(rotary.mscale_all_dim);
  stream.number(rotary.low_freq_factor);
  stream.number(rotary.high_freq_factor);
  if (!with_sections) return;
  stream.number(rotary.temporal_section);
  stream.number(rotary.height_section);
  stream.number(rotary.width_section);
}

/// All rows of batch b. Reader and writer use the same order.
template <class Stream, class AnyStore>
void batch_rows(Stream& stream, AnyStore& store, std::int64_t b) {
  const std::int64_t length = store.length(b);
  if (length == 0) return;  // without rows the file does not limit the number of heads, which may be huge
  for (std::int64_t g = 0; g < store.shape.num_kv_heads; ++g)
    for (const BlockSide* side : {&store.layout.key, &store.layout.value}) {
      if (side == &store.layout.key && store.key_means) stream.mean(store.key_mean(b, g), store.shape.head_dim);
      RowSpan span;
      for (std::int64_t j = 0; j < length; j += span.count) {
        span = store.span(b, j, length - j);
        stream.bytes(store.block(b, span.block)->data() + store.row_offset(*side, g, span.row),
                     span.count * side->row_bytes);
      }
      if (store.shape.dtype != Dtype::int8) continue;
      for (std::int64_t j = 0; j < length; j += span.count) {
        span = store.span(b, j, length - j);
        stream.scales(store.block(b, span.block)->data() + store.scale_offset(*side, g, span.row), span.count, *side);
      }
    }
}

class Writer {
 public:
  explicit Writer(std::uint8_t* to) : to_(to) {}

  template <class T>
  void number(T value) {
    if constexpr (std::is_same_v<T, double>) {
      bytes(reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
    } else {
      const std::int64_t wide = static_cast<std::int64_t>(value);
      bytes(reinterpret_cast<const std::uint8_t*>(&wide), sizeof wide);
    }
  }

  void bytes(const std::uint8_t* from, std::int64_t count) {
    std::memcpy(to_, from, static_cast<std::size_t>(count));
    to_ += count;
  }

  void mean(const float* mean, std::int64_t width) {
    bytes(reinterpret_cast<const std::uint8_t*>(mean), width * static_cast<std::int64_t>(sizeof(float)));
  }
  void scales(const std::uint8_t* from, std::int64_t rows, const BlockSide& side) {
    bytes(from, rows * side.scale_bytes());
  }

 private:
  std::uint8_t* to_;
};

/// Reads from bytes of a version. The caller has checked that there are enough.
class Reader {
 public:
  Reader(const std::uint8_t* from, std::int64_t version) : from_(from), version_(version) {}

  template <class T>
  void number(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      bytes(reinterpret_cast<std::uint8_t*>(&value), sizeof value);
    } else {
      std::int64_t wide = 0;
      bytes(reinterpret_cast<std::uint8_t*>(&wide), sizeof wide);
      value = static_cast<T>(wide);
    }
  }

  void bytes(std::uint8_t* to, std::int64_t count) {
    std::memcpy(to, from_, static_cast<std::size_t>(count));
    from_ += count;
  }

  /// Version 1 has no means. They stay 0.
  void mean(float* mean, std::int64_t width) {
    if (version_ >= 2) bytes(reinterpret_cast<std::uint8_t*>(mean), width * static_cast<std::int64_t>(sizeof(float)));
  }

  /// Version 1 has one scale for each row. All its blocks get it.
  void scales(std::uint8_t* to, std::int64_t rows, const BlockSide& side) {
    if (version_ >= 2) return bytes(to, rows * side.scale_bytes());
    for (std::int64_t r = 0; r < rows; ++r, to += side.scale_bytes()) {
      float scale;
      bytes(reinterpret_cast<std::uint8_t*>(&scale), sizeof scale);
      std::fill_n(reinterpret_cast<float*>(to), side.scales, scale);
    }
  }

 private:
  const std::uint8_t* from_;
  std::int64_t version_;
};

/// Counts the bytes of numbers, so that the size of the header needs no second list.
struct Counter {
  std::int64_t count = 0;
  template <class T>
  void number(const T&) {
    count += kNumberBytes;
  }
};

std::int64_t header_bytes(const Header& header) {
  Counter counter;
  header_numbers(counter, header);
  if (header.has_rotary()) rotary_numbers(counter, RotaryOptions(), header.has_sections());
  return static_cast<std::int64_t>(sizeof kMagic) + counter.count;
}

/// The arrays of a rotary embedding, as the file has them. Tables begin with their number of rows.
struct ArraySizes {
  std::int64_t numbers = 0;      ///< in each list
  std::int64_t lists = 0;        ///< longrope: 2, frequencies: 1
  std::int64_t table_bytes = 0;  ///< of each table
  [[nodiscard]] std::int64_t bytes() const {
    return lists * numbers * kNumberBytes + (table_bytes > 0 ? kNumberBytes + 2 * table_bytes : 0);
  }
};

ArraySizes array_sizes(const KvCacheShape& shape) {
  if (!shape.rotary) return {};
  const RotaryOptions& rotary = *shape.rotary;
  const std::int64_t half = rotary_dim_of(rotary, shape.head_dim) / 2;
  if (rotary.scaling == RotaryScaling::longrope) return {half, 2, 0};
  if (rotary.scaling == RotaryScaling::frequencies) return {half, 1, 0};
  if (rotary.scaling == RotaryScaling::tables) return {0, 0, rotary.table_rows * half * kFloatBytes};
  return {};
}

void write_arrays(Writer& writer, const KvCacheShape& shape) {
  const ArraySizes sizes = array_sizes(shape);
  if (sizes.bytes() == 0) return;
  const RotaryOptions& rotary = *shape.rotary;
  const auto array = [&](const void* data, std::int64_t bytes) {
    writer.bytes(static_cast<const std::uint8_t*>(data), bytes);
  };
  if (rotary.scaling == RotaryScaling::longrope) {
    array(rotary.short_factors, sizes.numbers * kNumberBytes);
    array(rotary.long_factors, sizes.numbers * kNumberBytes);
  } else if (rotary.scaling == RotaryScaling::frequencies) {
    array(rotary.frequencies, sizes.numbers * kNumberBytes);
  } else {
    writer.number(rotary.table_rows);
    array(rotary.cosines, sizes.table_bytes);
    array(rotary.sines, sizes.table_bytes);
  }
}

/// The arrays of a rotary embedding that is read. Its options point to them.
class ReadArrays {
 public:
  /// @param rest  how many bytes there are
  [[nodiscard]] Error read(Reader& reader, KvCacheShape& shape, std::int64_t rest) {
    if (!shape.rotary || shape.rotary->scaling < RotaryScaling::longrope) return {};
    RotaryOptions& rotary = *shape.rotary;
    const std::int64_t half = rotary_dim_of(rotary, shape.head_dim) / 2;
    if (!check_rotary_dim(rotary_dim_of(rotary, shape.head_dim), shape.head_dim).ok() || half > rest)
      return refuse(Rule::saved_header);
    if (rotary.scaling == RotaryScaling::tables) {
      if (rest < kNumberBytes) return refuse(Rule::saved_truncated);
      reader.number(rotary.table_rows);
      if (rotary.table_rows < 1 || rotary.table_rows > rest / (2 * kFloatBytes * half)) return refuse(Rule::saved_size);
    }
    const ArraySizes sizes = array_sizes(shape);
    if (sizes.bytes() > rest) return refuse(Rule::saved_truncated);
    const std::int64_t values = sizes.lists * sizes.numbers, floats = 2 * sizes.table_bytes / kFloatBytes;
    if (Error e = allocate_all(numbers_, values, floats_, floats)) return e;
    reader.bytes(reinterpret_cast<std::uint8_t*>(numbers_.data()), values * kNumberBytes);
    reader.bytes(reinterpret_cast<std::uint8_t*>(floats_.data()), floats * kFloatBytes);
    rotary.short_factors = rotary.frequencies = numbers_.data();
    rotary.long_factors = numbers_.data() + sizes.numbers;
    rotary.cosines = floats_.data(), rotary.sines = floats_.data() + floats / 2;
    return {};
  }

 private:
  Buffer<double> numbers_;
  Buffer<float> floats_;
};

std::int64_t batch_bytes(std::int64_t batch_size) { return batch_size * 2 * kNumberBytes; }

/// Header::turns of a cache.
std::int64_t turns_of(const KvCache::Store& store) {
  const KvCacheShape& shape = store.shape;
  if (!shape.rotary) return shape.cache_positions ? 4 : 0;
  const std::int64_t sections = has_sections(*shape.rotary) ? 4 : 0;
  return sections + (shape.cache_positions ? 3 : 1 + std::int64_t{store.has_given_positions});
}

/// Magic and header of a cache of this shape.
void write_header(Writer& writer, const KvCacheShape& shape, std::int64_t version, std::int64_t turns) {
  const Header header{version, shape, turns};
  writer.bytes(kMagic, sizeof kMagic);
  header_numbers(writer, header);
  if (shape.rotary) rotary_numbers(writer, used_numbers(*shape.rotary), header.has_sections());
}

/// Whether a cache of this shape, read from `bytes`, would be saved as the same header in that version. Then no number
/// was cut when it was read, and no unused number differs from its default.
bool is_header_of(const KvCacheShape& shape, std::int64_t version, std::int64_t turns, const std::uint8_t* bytes) {
  if (turns < 0 || turns > 7 || (shape.cache_positions && shape.window == 0)) return false;
  if (turns > 4 && !has_sections(*shape.rotary)) return false;
  constexpr std::int64_t kMostHeaderBytes = 256;
  std::uint8_t header[kMostHeaderBytes];
  Writer writer(header);
  write_header(writer, shape, version, turns);
  return std::memcmp(header, bytes, static_cast<std::size_t>(header_bytes({version, {}, turns}))) == 0;
}

/// The bytes of the given positions at the beginning of a file; 0: there are none.
std::int64_t given_position_bytes(const std::uint8_t* bytes, std::int64_t size) {
  constexpr std::uint8_t kBegin[8] = {0x89, 'H', 'W', 'K', 'P', '\r', '\n', 0x1a};
  constexpr std::int64_t kBeginBytes = 16;  // kBegin, their number, their sum
  if (size < kBeginBytes || std::memcmp(bytes, kBegin, sizeof kBegin) != 0) return 0;
  std::int32_t count;
  std::memcpy(&count, bytes + sizeof kBegin, sizeof count);
  return count >= 0 && count <= size - kBeginBytes ? count + kBeginBytes : 0;
}

/// All checks that do not need the header.
Error check_envelope(const std::uint8_t* bytes, std::int64_t size) {
  if (size < static_cast<std::int64_t>(sizeof kMagic) || std::memcmp(bytes, kMagic, sizeof kMagic) != 0)
    return refuse(Rule::saved_magic);
  if (size < header_bytes({}) + kChecksumBytes) return refuse(Rule::saved_truncated);
  std::int64_t version;
  std::memcpy(&version, bytes + sizeof kMagic, sizeof version);
  if (version < 1 || version > kNewestVersion) return refuse(Rule::saved_version, version, kNewestVersion);
  std::uint32_t checksum;
  std::memcpy(&checksum, bytes + size - kChecksumBytes, sizeof checksum);
  if (crc32(bytes, size - kChecksumBytes) != checksum) return refuse(Rule::saved_checksum);
  return {};
}

/// The bytes of a token, of all heads, in a version.
std::int64_t saved_token_bytes(const KvCacheShape& shape, std::int64_t version) {
  if (shape.dtype != Dtype::int8 || version >= 2) return token_bytes(shape);
  return shape.num_kv_heads * (shape.head_dim + shape.value_dim + 2 * static_cast<std::int64_t>(sizeof(float)));
}

/// The bytes of the means of a batch that is not empty.
std::int64_t saved_mean_bytes(const KvCacheShape& shape, std::int64_t version) {
  if (shape.dtype != Dtype::int8 || version < 2) return 0;
  return shape.num_kv_heads * shape.head_dim * static_cast<std::int64_t>(sizeof(float));
}

/// Reads and checks tokens and origins. The rows and means must take exactly `row_bytes`.
Error read_batches(Reader& reader, KvCache::Store& store, std::int64_t version, std::int64_t row_bytes) {
  const std::int64_t farthest = store.shape.rotary ? std::int64_t{1} << 52 : 0;
  std::int64_t tokens = 0, batches = 0, bytes = 0, means = 0;
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) {
    reader.number(store.appended[b]);
    reader.number(store.rotary_origin[b]);
    if (store.appended[b] < 0 || store.appended[b] > store.most_tokens() || store.rotary_origin[b] < 0 ||
        store.rotary_origin[b] > farthest)
      return refuse(Rule::saved_tokens);
    tokens += store.length(b);
    batches += store.length(b) > 0;
  }
  if (!multiply_sizes(tokens, saved_token_bytes(store.shape, version), &bytes) ||
      !multiply_sizes(batches, saved_mean_bytes(store.shape, version), &means) || bytes > row_bytes ||
      means != row_bytes - bytes)
    return refuse(Rule::saved_size);
  return {};
}

}  // namespace

std::int64_t KvCache::saved_size() const {
  const KvCacheShape& shape = store_->shape;
  const std::int64_t version = version_of(shape.dtype);
  std::int64_t tokens = 0, batches = 0;
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    tokens += store_->length(b);
    batches += store_->length(b) > 0;
  }
  return header_bytes({version, {}, turns_of(*store_)}) + array_sizes(shape).bytes() + batch_bytes(shape.batch_size) +
         tokens * saved_token_bytes(shape, version) + batches * saved_mean_bytes(shape, version) + kChecksumBytes;
}

Status KvCache::save(std::uint8_t* bytes, std::int64_t size) const {
  if (size != saved_size()) return refuse(Rule::save_room, saved_size(), size);
  if (Error e = check_given({{Argument::bytes, true, bytes}})) return e;
  const Store& store = *store_;
  Writer writer(bytes);
  write_header(writer, store.shape, version_of(store.shape.dtype), turns_of(store));
  write_arrays(writer, store.shape);
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) {
    writer.number(store.appended[b]);
    writer.number(store.rotary_origin[b]);
  }
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) batch_rows(writer, store, b);
  const std::uint32_t checksum = crc32(bytes, size - kChecksumBytes);
  writer.bytes(reinterpret_cast<const std::uint8_t*>(&checksum), sizeof checksum);
  return {};
}

Status KvCache::load(const std::uint8_t* bytes, std::int64_t size, std::unique_ptr<KvCache>* cache) {
  if (Error e = check_given({{Argument::bytes, size > 0, bytes}, {Argument::output, true, cache}})) return e;
  const std::int64_t passed = given_position_bytes(bytes, size);
  bytes += passed, size -= passed;
  if (Error e = check_envelope(bytes, size)) return e;
  Header header;
  std::int64_t version;
  std::memcpy(&version, bytes + sizeof kMagic, sizeof version);
  Reader reader(bytes + sizeof kMagic, version);
  header_numbers(reader, header);
  if (header.turns < 0 || header.turns > 7) return refuse(Rule::saved_header);
  std::int64_t rest = size - header_bytes(header) - kChecksumBytes;
  if (rest < 0) return refuse(Rule::saved_truncated);
  if (header.has_rotary()) rotary_numbers(reader, header.shape.rotary.emplace(), header.has_sections());
  header.shape.cache_positions = header.has_places();
  ReadArrays arrays;
  if (Error e = arrays.read(reader, header.shape, rest)) return e;
  rest -= array_sizes(header.shape).bytes();
  if (version > version_of(header.shape.dtype) || !is_header_of(header.shape, version, header.turns, bytes) ||
      header.shape.batch_size < 0 || header.shape.batch_size > rest / (2 * kNumberBytes))
    return refuse(Rule::saved_header);

  std::unique_ptr<KvCache> loaded;
  if (Error e = create(header.shape, &loaded)) {
    if (e.code != StatusCode::out_of_memory) e.code = StatusCode::corrupt_data;
    return e;
  }
  Store& store = *loaded->store_;
  store.has_given_positions = header.has_given_positions();
  if (Error e = read_batches(reader, store, version, rest - batch_bytes(header.shape.batch_size))) return e;
  if (loaded->max_length() > 0)
    if (Error e = store.ensure_means()) return e;
  for (std::int64_t b = 0; b < store.shape.batch_size; ++b) {
    if (Error e = store.reserve(b, 0, store.appended[b])) return e;
    batch_rows(reader, store, b);
  }
  if (loaded->max_length() > 0)
    if (Error e = store.ensure_angles()) return e;
  *cache = std::move(loaded);
  return {};
}

}  // namespace headwise
