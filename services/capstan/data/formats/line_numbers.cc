#include "capstan/data/formats/line_numbers.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "capstan/base/status.h"

namespace capstan {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
constexpr uint64_t kMarkEvery = uint64_t{4} << 20;

}  // namespace

absl::StatusOr<std::optional<uint64_t>> LineNumbers::At(const std::string& file, uint64_t offset) {
  Marks& marks = files_[file];
  marks.try_emplace(0, 0);
  if (offset - std::prev(marks.upper_bound(offset))->first > kMostCounted) return std::nullopt;
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t before, CountTo(offset, file, marks));
  return before + 1;
}

absl::StatusOr<uint64_t> LineNumbers::CountTo(uint64_t offset, const std::string& file,
                                              Marks& marks) const {
  const auto mark = std::prev(marks.upper_bound(offset));
  uint64_t at = mark->first;
  uint64_t lines = mark->second;
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream,
                           source_.Open(file, at, offset));
  std::vector<char> buffer(kPiece);
  while (at < offset) {
    const uint64_t next_mark = (at / kMarkEvery + 1) * kMarkEvery;
    const uint64_t wanted = std::min({offset - at, next_mark - at, uint64_t{kPiece}});
    CAPSTAN_ASSIGN_OR_RETURN(const size_t n, stream->Read(std::span(buffer).first(wanted)));
    if (n == 0) break;
    lines += static_cast<uint64_t>(
        std::count(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(n), '\n'));
    at += n;
    if (at == next_mark) marks[at] = lines;
  }
  return lines;
}

}  // namespace capstan
