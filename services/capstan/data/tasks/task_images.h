// Keeps the images of a task encoded and decodes them when a batch is built: encoded images take
// about a hundredth of the memory of decoded ones.
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

// What random crops and mirrors depend on, in addition to the record's index in the task.
struct ImageDraws {
  bool training = false;  // False: images are neither cropped nor mirrored at random.
  uint64_t seed = 0;
  uint64_t stream = 0;  // Identifies the task and its epoch.
};

// Thread-compatible.
class TaskImages {
 public:
  // The largest total size of the encoded images of a task; Add refuses more with
  // RESOURCE_EXHAUSTED.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;

  // REQUIRES: DeriveDataSpec has filled in `data`.
  TaskImages(const v1::DataSpec& data, const ImageDraws& draws);

  // Adds the encoded image of the next record; `place` says where it is, for messages.
  absl::Status Add(std::string_view place, std::string_view encoded);

  size_t size() const { return entries_.size(); }

  // Decodes images. Several readers may use the same TaskImages at once, each in its own thread.
  // Thread-compatible.
  class Reader {
   public:
    // `images` must outlive this object.
    explicit Reader(const TaskImages& images);

    // Appends the numbers of image `record` to `dense`. INVALID_ARGUMENT, with the image's place:
    // it cannot be decoded.
    absl::Status AppendTo(size_t record, std::vector<float>& dense);

   private:
    const TaskImages& images_;
    ImageDecoder decoder_;
    std::vector<uint8_t> pixels_;
  };

 private:
  // Where an image is in `bytes_`: the text of its place begins at the end of the previous entry,
  // the image begins at `image` and ends at `end`.
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
