// Reads images with their labels from files that hold many: tar in the layout of webdataset, and
// TFRecord.
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

// A plain value. `error` says what is wrong with the sample. If it is empty, the sample is whole,
// though its label may be missing.
struct Sample {
  std::string place = {};  // Where it lies in the file: "sample 0001 at byte 1024".
  std::string image = {};  // Encoded, as it is stored.
  std::string label = {};  // Its text, if has_label.
  bool has_label = false;
  std::string error = {};
};

// The samples of a range, in the order of the file. Implementations are thread-compatible.
class SampleStream {
 public:
  virtual ~SampleStream() = default;

  // Replaces `sample` with the next one of the range. Returns false if there is none. A returned
  // error concerns the file; what is wrong with one sample is in sample.error.
  virtual absl::StatusOr<bool> Next(Sample& sample) = 0;

  // The byte up to which the file has been read.
  virtual uint64_t offset() const = 0;

  // The byte at which the next sample begins; nothing: it is not known.
  virtual std::optional<uint64_t> next_begin() const = 0;
};

struct SampleRange {
  uint64_t first_byte = 0;  // Where the stream begins, at or before `begin`.
  uint64_t begin = 0;
  uint64_t end = Source::kToTheEnd;
  // It is known that a sample begins at `begin`, with nothing of it before.
  bool at_sample = false;
};

// Return whether NewSampleStream reads a format, and whether a format's records are images.
bool IsSampleFormat(v1::DataFormat format);
bool IsImageFormat(v1::DataFormat format);

// Returns the samples of a range of a file of data.format. However a file is cut into ranges, each
// of its samples is in exactly one of them. The stream may be read beyond range.end. REQUIRES:
// IsSampleFormat(data.format).
std::unique_ptr<SampleStream> NewSampleStream(const v1::DataSpec& data,
                                              std::unique_ptr<ByteStream> stream,
                                              const SampleRange& range);

// Members of one name up to the first dot are a sample: 0001.jpg, 0001.cls. Files whose names begin
// with a dot or have no dot, and members that are no files, belong to no sample. image.image_member
// and image.label_member are the ends of the members' names; empty: jpg, jpeg or png, and cls.
//
// No index is needed. A range that begins at byte b > 0 is read from the first header at or after
// b. Which sample that member belongs to cannot always be told, as a part of its name may stand
// before b. So the range passes over that member and over the sample that the member after it
// belongs to; the range that ends at b reads these instead.
std::unique_ptr<SampleStream> NewTarSamples(ByteReader bytes, const SampleRange& range,
                                            const v1::ImageSpec& image);

// A record belongs to the range in which its first byte lies, and is found by the checksum of its
// length. Each record is a tf.train.Example; image.image_member and image.label_member are the
// names of its features; empty: image/encoded and image/class/label.
std::unique_ptr<SampleStream> NewTfRecordSamples(ByteReader bytes, const SampleRange& range,
                                                 const v1::ImageSpec& image);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_SAMPLES_H_
