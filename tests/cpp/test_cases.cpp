#include <gtest/gtest.h>

#include <set>

#include "cases.h"

namespace headwise::test_cases {

TEST(Cases, WordsAreThoseOfTheReadme) {
  EXPECT_EQ(cases::word(1, 1, 0), 0xc5f64a98u);
  EXPECT_EQ(cases::word(1, 1, 1), 0xc965c8b3u);
  EXPECT_EQ(cases::word(1, 2, 0), 0x5c5f30abu);
  EXPECT_EQ(cases::word(4000000000u, 3, 1000000), 0x63092206u);
}

TEST(Cases, NamesAndSeedsAreUnique) {
  std::set<std::string> names;
  std::set<std::uint32_t> seeds;
  for (const cases::Case& call : cases::table()) {
    EXPECT_TRUE(names.insert(call.name).second) << call.name;
    EXPECT_TRUE(seeds.insert(call.seed).second) << call.name;
  }
}

// What the README promises of half-precision inputs: rounding to float16 and back loses nothing.
TEST(Cases, HalfPrecisionInputsAreExact) {
  const cases::Array exact = cases::random_array(Dtype::float16, 4096, 7, 1);
  for (std::int64_t k = 0; k < exact.size(); ++k) {
    const double expected = (static_cast<double>(cases::word(7, 1, static_cast<std::uint32_t>(k)) >> 21) - 1024) / 1024;
    ASSERT_EQ(exact.get(k), expected);
  }
}

}  // namespace headwise::test_cases
