#pragma once

#include "allocations.h"
#include "harness.h"

namespace headwise {

/// Runs `attempt` with its first request for memory refused, then with its second, and so on, until all are granted.
/// Each refusal must be the status out_of_memory; after it `look` sees what is left. Returns the number of refusals.
template <class Attempt, class Look>
int refuse_each_request(const Attempt& attempt, const Look& look, Refused how = Refused::once) {
  for (int n = 0;; ++n) {
    SCOPED_TRACE("request " + std::to_string(n));
    int requests;
    const Status status = [&] {
      const Allocations refusing(n, how);
      Status result = attempt();
      requests = refusing.count();
      return result;
    }();
    const bool is_refused = requests > n;
    EXPECT_EQ(status.code, is_refused ? StatusCode::out_of_memory : StatusCode::ok) << status.message().text;
    if (!is_refused) return n;
    look();
  }
}

}  // namespace headwise
