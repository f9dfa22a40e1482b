#include "capstan/data/formats/listed_file.h"

#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/line_reader.h"

namespace capstan {
namespace {

// A stream that passes bytes on and adds them to a checksum.
class SummedStream : public ByteStream {
 public:
  // `crc32c` must outlive this object.
  SummedStream(std::unique_ptr<ByteStream> text, uint32_t& crc32c)
      : text_(std::move(text)), crc32c_(crc32c) {}

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    CAPSTAN_ASSIGN_OR_RETURN(const size_t size, text_->Read(buffer));
    crc32c_ = Crc32c({buffer.data(), size}, crc32c_);
    return size;
  }

 private:
  const std::unique_ptr<ByteStream> text_;
  uint32_t& crc32c_;
};

}  // namespace

absl::StatusOr<uint32_t> ReadListedFile(
    const Source& source, const std::string& file,
    absl::FunctionRef<bool(const ListedLine& line, std::string& error)> take) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents, OpenContents(source, file));
  uint32_t crc32c = 0;
  LineReader lines(file, std::make_unique<SummedStream>(std::move(contents), crc32c), 0);
  std::string error;
  ListedLine line;
  while (lines.Next(line.text)) {
    ++line.number;
    line.carriage_return = lines.carriage_return();
    if (take(line, error)) continue;
    return absl::InvalidArgumentError(absl::StrCat(file, ":", line.number, ": ", error));
  }
  CAPSTAN_RETURN_IF_ERROR(lines.status());
  return crc32c;
}

absl::Status CheckUnchanged(const std::string& file, std::string_view what, uint32_t found,
                            uint32_t expected) {
  if (found == expected) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s: %s have changed since the job began: the file's checksum is %08x, expected %08x", file,
      AbslView(what), found, expected));
}

}  // namespace capstan
