// Requests and answers of the Open Inference Protocol, which KServe calls V2, as JSON.
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

// An input: the values of its rows, one row after the other. `data` may have them flat, as the
// tensor of the shape that is said (lists within lists), or, where the shape says the rows alone,
// as one list for each row, of any length; null is an empty one.
struct InferInput {
  // Returns where in `cells` the values of a row begin. Those of the last row end at Begin(rows).
  size_t Begin(size_t row) const;

  std::string name;
  size_t rows = 0;  // The first number of its shape.
  // As a file of text would have them; of null, the empty one. A floating-point number that is
  // whole and below 2^53 is the whole number: of 1.0, "1".
  std::vector<std::string> cells;
  bool in_lists = false;  // `data` has a list for each row.
  // Where the list of each row ends in `cells`. Empty: all rows have equally many values.
  std::vector<size_t> ends = {};
  // The place in `cells` of the first other floating-point number, if there is one.
  std::optional<size_t> fraction = {};
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

// INVALID_ARGUMENT, with the input and the row that are meant: it is no request, the data of an
// input are not of its shape, its datatype is none of the protocol's, or does not have one of the
// values. Datatype BYTES, which is also that of an input without one, has all values.
absl::StatusOr<InferRequest> ParseInferRequest(std::string_view json);

// What is answered to it by a version of a model. A vector of `columns` 1 has the shape [rows].
std::string InferResponse(const std::string& model, const std::string& version,
                          const std::string& id, size_t rows,
                          const std::vector<InferOutput>& outputs);

// {"error": "..."}
std::string ErrorResponse(std::string_view error);

}  // namespace capstan

#endif  // CAPSTAN_INFERENCE_INFERENCE_H_
