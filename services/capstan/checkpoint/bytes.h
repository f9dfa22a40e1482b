// Little-endian numbers in byte strings.
#ifndef CAPSTAN_CHECKPOINT_BYTES_H_
#define CAPSTAN_CHECKPOINT_BYTES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace capstan {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are");

template <typename T>
void AppendNumber(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline void AppendFloats(std::string& out, absl::Span<const float> values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// Reads numbers from the front of some bytes. Reading beyond the end returns zeros and sets
// beyond_end(), so that a caller may check once, at the end. Thread-compatible.
class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T Number() {
    T value{};
    Copy(&value, sizeof(value));
    return value;
  }
  void Floats(absl::Span<float> values) { Copy(values.data(), values.size() * sizeof(float)); }

  std::string_view rest() const { return rest_; }
  bool beyond_end() const { return beyond_end_; }
  // Returns true if exactly all bytes were read.
  bool finished() const { return rest_.empty() && !beyond_end_; }

 private:
  void Copy(void* out, size_t count) {
    if (rest_.size() < count) {
      beyond_end_ = true;
      return;
    }
    std::memcpy(out, rest_.data(), count);
    rest_.remove_prefix(count);
  }

  std::string_view rest_;
  bool beyond_end_ = false;
};

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_BYTES_H_
