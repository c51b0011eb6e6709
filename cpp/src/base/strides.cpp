#include "base/strides.h"

namespace headwise {

Strides strides_of(Layout layout, std::int64_t heads, std::int64_t length, std::int64_t width) {
  switch (layout) {
    case Layout::bhsd:
      return {heads * length * width, length * width, width, 1};
    case Layout::bshd:
    case Layout::bse:
      return {heads * length * width, width, heads * width, 1};
    case Layout::bes:
      break;
  }
  return {heads * length * width, width * length, 1, length};
}

}  // namespace headwise
