#include "capstan/data/formats/line_reader.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineReader::LineReader(std::string path, std::unique_ptr<ByteStream> stream, uint64_t offset)
    : path_(std::move(path)),
      stream_(std::move(stream)),
      buffer_(kBufferBytes),
      begin_offset_(offset) {}

bool LineReader::Next(std::string_view& line) {
  size_t searched = 0;
  while (true) {
    const char* begin = buffer_.data() + begin_;
    const size_t unread = end_ - begin_;
    const void* newline = std::memchr(begin + searched, '\n', unread - searched);
    if (newline == nullptr && !at_end_) {
      searched = unread;
      if (!Refill()) return false;
      continue;
    }
    if (newline == nullptr && unread == 0) return false;
    const size_t size = newline == nullptr
                            ? unread
                            : static_cast<size_t>(static_cast<const char*>(newline) - begin);
    const size_t taken = newline == nullptr ? size : size + 1;
    line = std::string_view(begin, size);
    line_offset_ = begin_offset_;
    begin_ += taken;
    begin_offset_ += taken;
    if (line_offset_ == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(3);
    carriage_return_ = line.ends_with('\r');
    if (carriage_return_) line.remove_suffix(1);
    return true;
  }
}

// Moves the unread bytes to the beginning of the buffer and reads more after them. Returns false
// after an error.
bool LineReader::Refill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kMaxLine) {
      status_ = absl::InvalidArgumentError(absl::StrCat(
          path_, ": byte ", begin_offset_, ": a line of more than ", kMaxLine, " bytes"));
      return false;
    }
    buffer_.resize(buffer_.size() * 2);
  }
  absl::StatusOr<size_t> n = stream_->Read(std::span(buffer_).subspan(end_));
  if (!n.ok()) {
    status_ = n.status();
    return false;
  }
  at_end_ = *n == 0;
  end_ += *n;
  return true;
}

}  // namespace capstan
