// The safetensors format: named arrays in one file, behind a header of JSON.
#ifndef CAPSTAN_CLI_MODEL_SAFETENSORS_H_
#define CAPSTAN_CLI_MODEL_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan::cli {

struct SafeTensor {
  uint64_t elements() const;

  std::string name;
  std::string dtype;  // "F32" or "U64".
  std::vector<uint64_t> shape;
  uint64_t begin = 0;  // Place in the data, which follow the header.
  uint64_t end = 0;
};

// Sets begin and end of the arrays so that they lie one after the other.
void PlaceTensors(std::vector<SafeTensor>& tensors);

// Returns the bytes before the data: the header's length, then JSON, padded to a multiple of 8
// bytes.
std::string SafetensorsHeader(const std::vector<SafeTensor>& tensors,
                              const std::map<std::string, std::string>& metadata);

// The arrays of a file by name. The data begin at byte `data_begin` of the file.
struct SafetensorsIndex {
  std::map<std::string, SafeTensor> tensors;
  uint64_t data_begin = 0;
};
// DATA_LOSS: the header is none of safetensors, or an array does not lie within the file, or is of
// another type than those above.
absl::StatusOr<SafetensorsIndex> ReadSafetensorsIndex(std::string_view file);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_SAFETENSORS_H_
