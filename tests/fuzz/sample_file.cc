// A tar or a TFRecord of images, whole and in two ranges. First byte: which, and where it is cut.
#include "capstan/base/check.h"
#include "capstan/data/formats/samples.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

void ReadRange(v1::DataFormat format, std::string_view bytes, const SampleRange& range) {
  v1::DataSpec data;
  data.set_format(format);
  const auto samples = NewSampleStream(
      data, NewTextStream(std::string(bytes.substr(range.first_byte)), /*piece=*/1 << 16), range);
  Sample sample;
  // A sample takes a byte at least.
  for (size_t count = 0;; ++count) {
    CAPSTAN_CHECK(count <= bytes.size());
    const absl::StatusOr<bool> more = samples->Next(sample);
    CAPSTAN_CHECK(more.ok());
    if (!*more) return;
    CAPSTAN_CHECK(!sample.error.empty() || !sample.image.empty());
  }
}

}  // namespace
}  // namespace capstan

void Fuzz(std::string_view input) {
  using namespace capstan;
  if (input.empty()) return;
  const auto choice = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  const v1::DataFormat format = (choice & 1) == 0 ? v1::DATA_FORMAT_TAR : v1::DATA_FORMAT_TFRECORD;
  ReadRange(format, input, {});
  const uint64_t cut = input.size() * (choice >> 1) / 128;
  if (cut == 0) return;
  ReadRange(format, input, {0, 0, cut});
  ReadRange(format, input, {cut - 1, cut, input.size()});
}
