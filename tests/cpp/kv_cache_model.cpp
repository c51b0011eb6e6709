#include "kv_cache_model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headwise {
namespace {

using Pair = KvCacheModel::Pair;

constexpr std::int64_t kTokens = 400;

KvCacheShape random_shape(const Upto& upto) {
  KvCacheShape shape;
  shape.batch_size = 1 + upto(1);
  shape.num_kv_heads = 1 + upto(1);
  shape.head_dim = 3;
  shape.value_dim = 2;
  if (upto(1) == 0) {
    shape.keep_first = upto(upto(1) == 0 ? 5 : 140);
    shape.window = 1 + upto(upto(1) == 0 ? 9 : 300);
  }
  return shape;
}

/// The rows that a cache of this shape holds of these tokens: their positions.
std::vector<std::int64_t> held_positions(const KvCacheShape& shape, std::int64_t appended) {
  std::vector<std::int64_t> positions;
  for (std::int64_t p = 0; p < appended; ++p)
    if (shape.window == 0 || p < shape.keep_first || p >= appended - shape.window) positions.push_back(p);
  return positions;
}

void expect_equal(const Pair& pair, const Tokens& tokens, const std::string& after) {
  const KvCacheShape& shape = pair.cache->shape();
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    const Appended& model = pair.model[b];
    const std::vector<std::int64_t> positions = held_positions(shape, static_cast<std::int64_t>(model.size()));
    for (std::int64_t g = 0; g < shape.num_kv_heads; ++g) {
      const std::vector<HeldRow> rows = held_rows(*pair.cache, b, g);
      ASSERT_EQ(rows.size(), positions.size()) << after;
      for (std::size_t j = 0; j < rows.size(); ++j) {
        ASSERT_EQ(rows[j].position, positions[j]) << after;
        const std::int64_t token = model[static_cast<std::size_t>(positions[j])];
        const std::int64_t batch = token / kTokens, n = token % kTokens;
        ASSERT_EQ(rows[j].key[1], tokens.key(batch, g, n, 1)) << after << ", row " << j;
        ASSERT_EQ(rows[j].value[1], tokens.value(batch, g, n, 1)) << after << ", row " << j;
      }
    }
  }
}

void append(Pair& pair, const Tokens& tokens, const Upto& upto) {
  const std::int64_t count = upto(upto(3) > 0 ? 9 : 200), from = upto(kTokens - count);
  std::vector<std::int32_t> lengths;
  std::int64_t batch = 0;
  for (Appended& model : pair.model) {
    lengths.push_back(static_cast<std::int32_t>(upto(count)));
    for (std::int64_t t = 0; t < lengths.back(); ++t) model.push_back(batch * kTokens + from + t);
    ++batch;
  }
  ASSERT_TRUE(tokens.append(*pair.cache, from, count, Layout::bshd, Dtype::float32, lengths.data()).ok());
}

/// Refused exactly if the rows held at that length are not all held now.
void rewind(Pair& pair, const Upto& upto) {
  const KvCacheShape& shape = pair.cache->shape();
  const std::int64_t length = upto(pair.cache->appended(0));
  bool refused = false;
  for (const Appended& model : pair.model) {
    const auto total = static_cast<std::int64_t>(model.size());
    if (length >= total) continue;
    std::vector<std::int64_t> left;
    for (const std::int64_t p : held_positions(shape, total))
      if (p < length) left.push_back(p);
    refused = refused || left != held_positions(shape, length);
  }
  EXPECT_EQ(pair.cache->rewind(length).ok(), !refused) << "to " << length;
  if (refused) return;
  for (Appended& model : pair.model) model.resize(std::min(model.size(), static_cast<std::size_t>(length)));
}

void select(Pair& pair, const Upto& upto) {
  std::vector<std::int32_t> indices;
  std::vector<Appended> selected;
  for (std::size_t b = 0; b < pair.model.size(); ++b) {
    indices.push_back(static_cast<std::int32_t>(upto(static_cast<std::int64_t>(pair.model.size()) - 1)));
    selected.push_back(pair.model[static_cast<std::size_t>(indices.back())]);
  }
  EXPECT_TRUE(pair.cache->select(indices.data()).ok());
  pair.model = selected;
}

/// Refused exactly if a ring has dropped tokens of a batch that becomes shorter.
void keep(Pair& pair, const Upto& upto) {
  const KvCacheShape& shape = pair.cache->shape();
  std::vector<std::int32_t> from, counts, rows;
  std::vector<Appended> kept;
  bool refused = false;
  for (const Appended& model : pair.model) {
    const auto total = static_cast<std::int64_t>(model.size());
    const std::int64_t first = upto(total), odds = upto(3);
    Appended& left = kept.emplace_back(model.begin(), model.begin() + first);
    for (std::int64_t row = 0; row < total - first; ++row) {
      if (upto(3) > odds) continue;
      rows.push_back(static_cast<std::int32_t>(row));
      left.push_back(model[static_cast<std::size_t>(first + row)]);
    }
    from.push_back(static_cast<std::int32_t>(first));
    counts.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(left.size()) - first));
    const bool dropped = held_positions(shape, total).size() < model.size();
    refused = refused || (dropped && left.size() < model.size());
  }
  EXPECT_EQ(pair.cache->keep(pool_of(1), {from.data(), counts.data(), rows.data()}).ok(), !refused);
  if (!refused) pair.model = kept;
}

Pair fork(const Pair& pair) {
  Pair copy;
  EXPECT_TRUE(pair.cache->fork(&copy.cache).ok());
  copy.model = pair.model;
  return copy;
}

Pair slice(const Pair& pair, const Upto& upto) {
  const std::int64_t to = upto(pair.cache->max_length()), from = upto(to);
  Pair part;
  EXPECT_TRUE(pair.cache->slice(from, to, &part.cache).ok());
  for (const Appended& model : pair.model) {
    Appended& held = part.model.emplace_back();
    const auto positions = held_positions(pair.cache->shape(), static_cast<std::int64_t>(model.size()));
    for (std::int64_t j = from; j < std::min(to, static_cast<std::int64_t>(positions.size())); ++j)
      held.push_back(model[static_cast<std::size_t>(positions[static_cast<std::size_t>(j)])]);
  }
  return part;
}

Pair reloaded(const Pair& pair) {
  const std::vector<std::uint8_t> bytes = saved(*pair.cache);
  Pair copy;
  EXPECT_TRUE(KvCache::load(bytes.data(), static_cast<std::int64_t>(bytes.size()), &copy.cache).ok());
  copy.model = pair.model;
  return copy;
}

}  // namespace

KvCacheModel::KvCacheModel(const Upto& upto, std::uint32_t seed)
    : upto_(upto), shape_(random_shape(upto)), tokens_(shape_, kTokens, seed), pairs_(1) {
  pairs_[0] = {make_cache(shape_), std::vector<Appended>(static_cast<std::size_t>(shape_.batch_size))};
}

void KvCacheModel::step(const std::string& after) {
  Pair& pair = pairs_[static_cast<std::size_t>(upto_(static_cast<std::int64_t>(pairs_.size()) - 1))];
  switch (upto_(11)) {
    case 0:
      pairs_.push_back(fork(pair));
      break;
    case 1:
      pairs_.push_back(slice(pair, upto_));
      break;
    case 2:
      pair = reloaded(pair);
      break;
    case 3:
      rewind(pair, upto_);
      break;
    case 4:
      if (pairs_.size() > 1) pairs_.erase(pairs_.begin());
      break;
    case 5:
      select(pair, upto_);
      break;
    case 6:
      keep(pair, upto_);
      break;
    default:
      append(pair, tokens_, upto_);
  }
  for (const Pair& each : pairs_) expect_equal(each, tokens_, after);
}

}  // namespace headwise
