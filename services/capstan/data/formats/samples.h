// Reads images with their labels from files with many images: tar in the layout of webdataset, and
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

// The largest size of an encoded image.
inline constexpr uint64_t kMostImageBytes = uint64_t{64} << 20;

// A value type. `error` says what is wrong with the sample. If it is empty, the sample is complete,
// except that its label may be missing.
struct Sample {
  std::string place = {};  // Where it is in the file: "sample 0001 at byte 1024".
  std::string image = {};  // Encoded, as stored.
  std::string label = {};  // The text of the label, if has_label.
  bool has_label = false;
  std::string error = {};
};

// The samples of a range, in the order of the file. Implementations are thread-compatible.
class SampleStream {
 public:
  virtual ~SampleStream() = default;

  // Replaces `sample` by the next one of the range. Returns false if there is none. A returned
  // error concerns the file; an error of one sample is in sample.error.
  virtual absl::StatusOr<bool> Next(Sample& sample) = 0;

  // The byte up to which the file has been read.
  virtual uint64_t offset() const = 0;

  // The byte at which the next sample begins; nullopt if it is not known.
  virtual std::optional<uint64_t> next_begin() const = 0;
};

struct SampleRange {
  uint64_t first_byte = 0;  // Where the stream begins, at or before `begin`.
  uint64_t begin = 0;
  uint64_t end = Source::kToTheEnd;
  // True if it is known that a sample begins exactly at `begin`.
  bool at_sample = false;
};

// Return true if NewSampleStream reads a format, and if a format's records are images.
bool IsSampleFormat(v1::DataFormat format);
bool IsImageFormat(v1::DataFormat format);

// Returns the samples of a range of a file of data.format. However a file is cut into ranges, each
// of its samples is in exactly one of them. The stream may be read beyond range.end. REQUIRES:
// IsSampleFormat(data.format).
std::unique_ptr<SampleStream> NewSampleStream(const v1::DataSpec& data,
                                              std::unique_ptr<ByteStream> stream,
                                              const SampleRange& range);

// Members with the same name up to the first dot are a sample: 0001.jpg, 0001.cls. Files whose
// names begin with a dot or have no dot, and members that are not files, belong to no sample.
// image.image_member and image.label_member are the suffixes of the members' names; empty: jpg,
// jpeg or png, and cls.
//
// No index is needed. A range that begins at byte b > 0 is read from the first header at or after
// b. It is not always known to which sample that member belongs, as a part of its name may be
// before b. So the range skips that member and the sample to which the member after it belongs; the
// range that ends at b reads these instead.
std::unique_ptr<SampleStream> NewTarSamples(ByteReader bytes, const SampleRange& range,
                                            const v1::ImageSpec& image);

// A record belongs to the range that contains its first byte, and is found by the checksum of its
// length. Each record is a tf.train.Example; image.image_member and image.label_member are the
// names of its features; empty: image/encoded and image/class/label.
std::unique_ptr<SampleStream> NewTfRecordSamples(ByteReader bytes, const SampleRange& range,
                                                 const v1::ImageSpec& image);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_SAMPLES_H_
