// Views of keys and floats in messages: packed little-endian, at any alignment. The bytes must
// outlive the views.
#ifndef CAPSTAN_STORE_PACKED_H_
#define CAPSTAN_STORE_PACKED_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace capstan {

static_assert(std::endian::native == std::endian::little, "packed values are read as they are");

class PackedKeys {
 public:
  PackedKeys() = default;
  PackedKeys(const void* data, size_t count)
      : data_(static_cast<const char*>(data)), size_(count) {}
  PackedKeys(const std::vector<uint64_t>& keys) : PackedKeys(keys.data(), keys.size()) {}

  size_t size() const { return size_; }
  uint64_t operator[](size_t i) const {
    uint64_t key;
    std::memcpy(&key, data_ + i * sizeof(key), sizeof(key));
    return key;
  }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// Counts, as uint32s.
class PackedCounts {
 public:
  PackedCounts() = default;
  PackedCounts(const void* data, size_t count)
      : data_(static_cast<const char*>(data)), size_(count) {}
  PackedCounts(const std::vector<uint32_t>& counts) : PackedCounts(counts.data(), counts.size()) {}

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  uint32_t operator[](size_t i) const {
    uint32_t count;
    std::memcpy(&count, data_ + i * sizeof(count), sizeof(count));
    return count;
  }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

class PackedFloats {
 public:
  PackedFloats() = default;
  PackedFloats(const void* data, size_t count)
      : data_(static_cast<const char*>(data)), size_(count) {}
  PackedFloats(const std::vector<float>& values) : PackedFloats(values.data(), values.size()) {}

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // The bytes beginning at the i-th float.
  const void* at(size_t i) const { return data_ + i * sizeof(float); }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_PACKED_H_
