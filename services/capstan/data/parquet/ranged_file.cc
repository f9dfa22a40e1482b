#include "capstan/data/parquet/ranged_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan::parquet {
namespace {

constexpr size_t kReadAtOnce = size_t{1} << 20;

}  // namespace

// Makes the window begin at `offset`: with the bytes that it has from there on, or empty with the
// stream at `offset`.
absl::Status RangedFile::Seek(uint64_t offset) {
  const uint64_t window = at_ - window_.size();
  if (stream_ != nullptr && offset >= window && offset <= at_) {
    window_.erase(window_.begin(), window_.begin() + static_cast<ptrdiff_t>(offset - window));
    return absl::OkStatus();
  }
  if (stream_ == nullptr || offset < window || offset - at_ > kMostPassed) {
    stream_.reset();
    window_.clear();
    CAPSTAN_ASSIGN_OR_RETURN(stream_,
                             source_.Open(file_.path, offset, std::max(likely_end_, offset + 1)));
    at_ = offset;
    return absl::OkStatus();
  }
  window_.resize(offset - at_);
  CAPSTAN_ASSIGN_OR_RETURN(const size_t passed, Fill(window_.data(), window_.size()));
  const bool all = passed == window_.size();
  window_.clear();
  if (all) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(file_.path, ": ends at byte ", at_, ", and has had ",
                                          file_.bytes, ": it has become shorter"));
}

absl::StatusOr<size_t> RangedFile::Fill(char* to, size_t size) {
  size_t filled = 0;
  while (filled < size) {
    const absl::StatusOr<size_t> n = stream_->Read({to + filled, size - filled});
    if (!n.ok()) {
      stream_.reset();  // It is not known how much of the window it has filled.
      return n.status();
    }
    if (*n == 0) break;
    filled += *n;
    at_ += *n;
  }
  return filled;
}

absl::StatusOr<std::string_view> RangedFile::Peek(uint64_t offset, size_t most) {
  CAPSTAN_RETURN_IF_ERROR(Seek(offset));
  const size_t held = window_.size();
  if (held < most) {
    window_.resize(most);
    CAPSTAN_ASSIGN_OR_RETURN(const size_t filled, Fill(window_.data() + held, most - held));
    window_.resize(held + filled);
  }
  return std::string_view(window_.data(), std::min(most, window_.size()));
}

absl::Status RangedFile::Read(uint64_t offset, uint64_t size, std::vector<char>& bytes) {
  CAPSTAN_RETURN_IF_ERROR(Seek(offset));
  const size_t held = std::min<uint64_t>(window_.size(), size);
  bytes.assign(window_.begin(), window_.begin() + static_cast<ptrdiff_t>(held));
  window_.erase(window_.begin(), window_.begin() + static_cast<ptrdiff_t>(held));
  while (bytes.size() < size) {
    const size_t before = bytes.size();
    const size_t more = std::min<uint64_t>(size - before, std::max(kReadAtOnce, before));
    bytes.resize(before + more);
    CAPSTAN_ASSIGN_OR_RETURN(const size_t filled, Fill(bytes.data() + before, more));
    if (filled == more) continue;
    return absl::DataLossError(absl::StrCat(file_.path, ": ends at byte ", at_, " of ", size,
                                            " bytes that begin at ", offset,
                                            "; is the file truncated?"));
  }
  return absl::OkStatus();
}

}  // namespace capstan::parquet
