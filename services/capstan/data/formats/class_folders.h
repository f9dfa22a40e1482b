// Folders of images: root/class/image.
#ifndef CAPSTAN_DATA_FORMATS_CLASS_FOLDERS_H_
#define CAPSTAN_DATA_FORMATS_CLASS_FOLDERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"

namespace capstan {

struct ClassFolder {
  std::string path;  // root/class
  uint64_t images = 0;
  uint64_t bytes = 0;  // Bytes of all its images.
};

// "cat" of "pets/cat".
std::string_view ClassOf(std::string_view folder);

// The folders below `root`, sorted by path, that hold images: files whose names end in .jpg, .jpeg
// or .png, in letters of any size. NOT_FOUND: there is none. INVALID_ARGUMENT: the classes have
// folders of their own.
absl::StatusOr<std::vector<ClassFolder>> ListClasses(const Source& source, const std::string& root);

// The paths of the images of one of them, sorted.
absl::StatusOr<std::vector<std::string>> ListImages(const Source& source,
                                                    const std::string& folder);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_CLASS_FOLDERS_H_
