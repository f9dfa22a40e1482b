// The images of a task as they are stored, decoded when a batch is cut: a hundredth of the memory.
#ifndef CAPSTAN_DATA_TASKS_TASK_IMAGES_H_
#define CAPSTAN_DATA_TASKS_TASK_IMAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "capstan/image/decode.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

ImageShape ShapeOfImages(const v1::DataSpec& data);

// From which crops and mirrors are drawn. A record is drawn for by its place in the task.
struct ImageDraws {
  bool training = false;  // Otherwise nothing is drawn.
  uint64_t seed = 0;
  uint64_t stream = 0;  // Which task of this epoch it is.
};

// Thread-compatible.
class TaskImages {
 public:
  // More bytes are refused, with RESOURCE_EXHAUSTED.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;

  // `data` after DeriveDataSpec.
  TaskImages(const v1::DataSpec& data, const ImageDraws& draws);

  // The image of the next record; `place` says where it is, for messages.
  absl::Status Add(std::string_view place, std::string_view encoded);

  size_t size() const { return entries_.size(); }

  // Decodes the images of records, one batch of them after the other, with memory of its own.
  // Thread-compatible.
  class Reader {
   public:
    // `images` must outlive this object.
    explicit Reader(const TaskImages& images);

    // Appends the numbers of image `record` to `dense`. INVALID_ARGUMENT, with its place: it cannot
    // be decoded.
    absl::Status AppendTo(size_t record, std::vector<float>& dense);

   private:
    const TaskImages& images_;
    ImageDecoder decoder_;
    std::vector<uint8_t> pixels_;
  };

 private:
  // Its place, and behind it the image, up to `end` in `bytes_`; the last one's end is its begin.
  struct Entry {
    size_t image = 0;
    size_t end = 0;
  };

  std::string_view PlaceOf(size_t record) const;
  std::string_view EncodedOf(size_t record) const;
  ImageView ViewOf(size_t record) const;

  const ImageShape shape_;
  const float scale_;
  const bool crop_;
  const bool flip_;
  const ImageDraws draws_;
  std::vector<Entry> entries_;
  std::string bytes_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_TASK_IMAGES_H_
