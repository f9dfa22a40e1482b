#include "tests/simulation/sim/sorted_file.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace capstan::sim {
namespace {

class TextStream : public ByteStream {
 public:
  explicit TextStream(std::string_view text) : rest_(text) {}

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    const size_t size = std::min(buffer.size(), rest_.size());
    std::memcpy(buffer.data(), rest_.data(), size);
    rest_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view rest_;
};

}  // namespace

SortedFile::SortedFile(const Options& options) {
  for (uint32_t i = 0; i < options.ranges; ++i) {
    const char* const label = i < options.ranges / 2 ? "0" : "1";
    const uint32_t records = (2 + i % 3) * options.batch_size;
    const uint32_t bad = options.bad_lines ? i % 3 : 0;
    v1::Task& range = ranges_.emplace_back();
    range.set_index(i);
    range.set_begin(text_.size());
    range.set_expected_records(records);
    for (uint32_t line = 0; line < records; ++line) {
      absl::StrAppend(&text_, label, " ", records_++, ":1\n");
      if (line < bad) absl::StrAppend(&text_, "no record\n");
    }
    range.set_end(text_.size());
    bad_records_ += bad;
  }
}

std::vector<v1::Task> SortedFile::Ranges(const std::string& path, uint32_t count) const {
  std::vector<v1::Task> ranges(ranges_.begin(), ranges_.begin() + count);
  for (v1::Task& range : ranges) range.set_file(path);
  return ranges;
}

absl::StatusOr<std::vector<FileInfo>> SortedFile::List(const std::string& pattern) const {
  return std::vector<FileInfo>{{pattern, text_.size()}};
}

absl::StatusOr<FileInfo> SortedFile::Find(const std::string& path) const {
  return FileInfo{path, text_.size()};
}

absl::StatusOr<std::unique_ptr<ByteStream>> SortedFile::Open(const std::string&, uint64_t offset,
                                                             uint64_t) const {
  const std::string_view text(text_);
  return std::make_unique<TextStream>(text.substr(std::min<uint64_t>(offset, text.size())));
}

}  // namespace capstan::sim
