#pragma once

#include <gtest/gtest.h>

#include "cases.h"
#include "reference/reference.h"

/// Ends the running test if a status is an error.
#define ASSERT_OK(expression)                            \
  do {                                                   \
    const Status status_ = (expression);                 \
    ASSERT_TRUE(status_.ok()) << status_.message().text; \
  } while (false)

namespace headwise {

/// Fails the running test for every result that lies further from the reference than the error model allows, naming the
/// first element. `heads` are the reference's answer to the same call.
void expect_near_reference(const AttentionShape& shape, const AttentionOptions& options, const cases::Returns& returns,
                           const std::vector<reference::Head>& heads, const cases::Results& results);

/// The same for a case of the table.
void expect_near_reference(const cases::Case& call, const cases::Results& results);

}  // namespace headwise
