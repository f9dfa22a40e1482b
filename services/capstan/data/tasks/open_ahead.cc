#include "capstan/data/tasks/open_ahead.h"

#include <utility>

#include "capstan/base/check.h"

namespace capstan {

OpenAhead::OpenAhead(const Source& source, const std::vector<v1::Task>& ranges) : source_(source) {
  for (const v1::Task& range : ranges) {
    if (!range.by_records()) closed_.push_back(range);
  }
}

absl::StatusOr<std::unique_ptr<ByteStream>> OpenAhead::Next() {
  while (!closed_.empty() && open_.size() <= kMostAhead) {
    const v1::Task range = std::move(closed_.front());
    closed_.pop_front();
    open_.push_back(source_.Open(range.file(), FirstByte(range), range.end()));
  }
  CAPSTAN_CHECK(!open_.empty());
  absl::StatusOr<std::unique_ptr<ByteStream>> next = std::move(open_.front());
  open_.pop_front();
  return next;
}

}  // namespace capstan
