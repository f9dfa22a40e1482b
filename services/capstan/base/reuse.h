// Vectors that are used again and again, for nearly the same number of elements each time.
#ifndef CAPSTAN_BASE_REUSE_H_
#define CAPSTAN_BASE_REUSE_H_

#include <cstddef>
#include <vector>

namespace capstan {

// Sets the size of `values`, whose elements may have any value afterwards. Where it has to grow, it
// gets a sixteenth more than it needs now: std::vector::resize() would double its memory for one
// element more.
template <typename T>
void ResizeForReuse(std::vector<T>& values, size_t size) {
  if (size > values.capacity()) {
    values = std::vector<T>();  // Nothing is worth a copy.
    values.reserve(size + size / 16);
  }
  values.resize(size);
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_REUSE_H_
