// Vectors that are reused for nearly the same number of elements each time.
#ifndef CAPSTAN_BASE_REUSE_H_
#define CAPSTAN_BASE_REUSE_H_

#include <cstddef>
#include <vector>

namespace capstan {

// Sets the size of `values`, whose elements have unspecified values afterwards. If it has to grow,
// it reserves a sixteenth more than it needs: std::vector::resize() would double its memory for one
// more element.
template <typename T>
void ResizeForReuse(std::vector<T>& values, size_t size) {
  if (size > values.capacity()) {
    values = std::vector<T>();  // Avoids a copy of the old elements.
    values.reserve(size + size / 16);
  }
  values.resize(size);
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_REUSE_H_
