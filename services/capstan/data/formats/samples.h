// Images with their labels, as files of many of them hold them: tar in the layout of webdataset,
// and TFRecord.
#ifndef CAPSTAN_DATA_FORMATS_SAMPLES_H_
#define CAPSTAN_DATA_FORMATS_SAMPLES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/byte_reader.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The most bytes of an encoded image.
inline constexpr uint64_t kMostImageBytes = uint64_t{64} << 20;

// A plain value. Whatever is wrong with a sample stands in `error`; one without is whole, but for
// the label, which may be missing.
struct Sample {
  std::string place = {};  // In the file: "sample 0001 at byte 1024".
  std::string image = {};  // As it is stored.
  std::string label = {};  // Its text.
  bool has_label = false;
  std::string error = {};
};

// The samples of a range, in the order of the file. Implementations are thread-compatible.
class SampleStream {
 public:
  virtual ~SampleStream() = default;

  // Replaces `sample` with the next one of the range. False: there is none. An error is one of the
  // file, not of a sample.
  virtual absl::StatusOr<bool> Next(Sample& sample) = 0;

  // Up to where the file has been read.
  virtual uint64_t offset() const = 0;

  // Where the sample begins that comes next; nothing: that is not known, or cannot be.
  virtual std::optional<uint64_t> next_begin() const = 0;
};

struct SampleRange {
  uint64_t first_byte = 0;  // Where the stream begins: at `begin`, or before.
  uint64_t begin = 0;
  uint64_t end = Source::kToTheEnd;
  bool at_sample = false;  // A sample begins at `begin`, of which nothing stands before.
};

// Formats that NewSampleStream reads, and those whose records are images.
bool IsSampleFormat(v1::DataFormat format);
bool IsImageFormat(v1::DataFormat format);

// Cuts a file of data.format. However a file is cut into ranges, each of its samples is in one of
// them. A range may read further than its end. REQUIRES: IsSampleFormat(data.format).
std::unique_ptr<SampleStream> NewSampleStream(const v1::DataSpec& data,
                                              std::unique_ptr<ByteStream> stream,
                                              const SampleRange& range);

// Members of one name up to the first dot are a sample: 0001.jpg, 0001.cls. Files whose names begin
// with a dot, or have none, and all that is no file belong to no sample. `image`, `label`: the ends
// of the members' names; empty: jpg, jpeg or png, and cls.
//
// Without an index: of the range that begins at byte b > 0 the file is read from the first header
// at or after b; which sample that is of cannot always be told, as a part of its name may stand
// before b. So that member is passed over, and the sample that the next one is of. A range that
// ends at byte e reads these two of the range that begins there.
std::unique_ptr<SampleStream> NewTarSamples(ByteReader bytes, const SampleRange& range,
                                            const v1::ImageSpec& image);

// A record is in the range in which its first byte lies. It is found by the checksum of its length.
// Each is a tf.train.Example; `image`, `label`: names of its features; empty: image/encoded and
// image/class/label.
std::unique_ptr<SampleStream> NewTfRecordSamples(ByteReader bytes, const SampleRange& range,
                                                 const v1::ImageSpec& image);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_SAMPLES_H_
