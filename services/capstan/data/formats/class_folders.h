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

// Returns the class of a folder: "cat" for "pets/cat".
std::string_view ClassOf(std::string_view folder);

// Returns the folders directly below `root` that contain images: files whose names end in .jpg,
// .jpeg or .png, in upper or lower case. They are sorted by their images' paths, so that "pets/a-b"
// comes before "pets/a", as '-' is less than '/'. NOT_FOUND: there is no such folder.
// INVALID_ARGUMENT: a class's folder contains another folder.
absl::StatusOr<std::vector<ClassFolder>> ListClasses(const Source& source, const std::string& root);

// Returns the paths of the images of one class's folder, sorted.
absl::StatusOr<std::vector<std::string>> ListImages(const Source& source,
                                                    const std::string& folder);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_CLASS_FOLDERS_H_
