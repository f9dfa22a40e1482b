// Requests and responses of the Open Inference Protocol, which KServe calls V2, as JSON.
// https://github.com/kserve/open-inference-protocol
#ifndef CAPSTAN_INFERENCE_INFERENCE_H_
#define CAPSTAN_INFERENCE_INFERENCE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

// An input: the values of its rows, one row after the other. In JSON, `data` may be flat, a tensor
// of the given shape (nested lists) or, if the shape has only the rows, one list of any length for
// each row; a null is an empty list.
struct InferInput {
  // Returns the index in `cells` of the first value of a row. Begin(rows) is the end of the last
  // row.
  size_t Begin(size_t row) const;

  std::string name;
  size_t rows = 0;  // The first number of its shape.
  // The values as a text file would have them; a null is an empty cell. A floating-point number
  // that is whole and below 2^53 is written as a whole number: 1.0 as "1".
  std::vector<std::string> cells;
  bool in_lists = false;  // `data` has a list for each row.
  // Where the list of each row ends in `cells`. Empty if all rows have the same number of values.
  std::vector<size_t> ends = {};
  // The index in `cells` of the first floating-point number that is not whole, if there is one.
  std::optional<size_t> fraction = {};
};

struct InferRequest {
  std::string id;
  std::vector<InferInput> inputs;
  std::vector<std::string> outputs;  // The requested outputs; empty: all.
};

// `columns` numbers per row.
struct InferOutput {
  std::string name;
  size_t columns = 1;
  std::vector<float> values;
};

// INVALID_ARGUMENT, with the input and the row: the text is not a request, the data of an input do
// not have its shape, its datatype is not one of the protocol, or a value does not have that
// datatype. The datatype BYTES, which is the default, allows all values.
absl::StatusOr<InferRequest> ParseInferRequest(std::string_view json);

// Returns the response of a version of a model. An output with `columns` 1 has the shape [rows].
std::string InferResponse(const std::string& model, const std::string& version,
                          const std::string& id, size_t rows,
                          const std::vector<InferOutput>& outputs);

// {"error": "..."}
std::string ErrorResponse(std::string_view error);

}  // namespace capstan

#endif  // CAPSTAN_INFERENCE_INFERENCE_H_
