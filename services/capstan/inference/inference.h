// Requests and answers of the Open Inference Protocol, which KServe calls V2, as JSON.
// https://github.com/kserve/open-inference-protocol
#ifndef CAPSTAN_INFERENCE_INFERENCE_H_
#define CAPSTAN_INFERENCE_INFERENCE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

// An input with its values in the order in which they stand, whatever its shape.
struct InferInput {
  std::string name;
  size_t rows = 0;                 // The first number of its shape.
  std::vector<std::string> cells;  // As a file of text would have them; of null, the empty one.
};

struct InferRequest {
  std::string id;
  std::vector<InferInput> inputs;
  std::vector<std::string> outputs;  // Those that are wanted; empty: all.
};

// `columns` numbers a row.
struct InferOutput {
  std::string name;
  size_t columns = 1;
  std::vector<float> values;
};

// INVALID_ARGUMENT, with the input that is meant: it is no request, or an input has another number
// of values than its shape says.
absl::StatusOr<InferRequest> ParseInferRequest(std::string_view json);

// What is answered to it by a version of a model. A vector of `columns` 1 has the shape [rows].
std::string InferResponse(const std::string& model, const std::string& version,
                          const std::string& id, size_t rows,
                          const std::vector<InferOutput>& outputs);

// {"error": "..."}
std::string ErrorResponse(std::string_view error);

}  // namespace capstan

#endif  // CAPSTAN_INFERENCE_INFERENCE_H_
