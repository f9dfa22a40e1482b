// Turns the inputs of a request to a served model into records.
#ifndef CAPSTAN_CLI_SERVE_SERVED_INPUTS_H_
#define CAPSTAN_CLI_SERVE_SERVED_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/vocabulary.h"
#include "capstan/inference/inference.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// For records of text a request has either the input `records`, with a line for each record in the
// format of the job, or one input for each column, called by the column's name or, where the job
// only numbers it, by its number. For images it has the input `pixels`, with a row for each image.
// Immutable, hence thread-safe.
class ServedInputs {
 public:
  // `vocabularies` are those of data.features.
  explicit ServedInputs(const v1::JobSpec& job, Vocabularies vocabularies = {});

  struct Input {
    std::string name;
    std::string datatype;
    size_t width = 1;  // Numbers for each record.
  };
  // The inputs that a request may have: `records` or `pixels`, and the columns.
  const std::vector<Input>& inputs() const { return inputs_; }

  // Returns the records of a request. INVALID_ARGUMENT, with the input or the record and what was
  // expected: it is malformed.
  absl::StatusOr<Batch> Read(const InferRequest& request) const;

 private:
  absl::StatusOr<Batch> ReadPixels(const InferRequest& request) const;
  absl::StatusOr<Batch> ReadLines(const std::vector<std::string>& lines) const;
  absl::StatusOr<std::vector<std::string>> JoinColumns(const InferRequest& request) const;

  v1::DataSpec data_;  // The job's data, read as text.
  Vocabularies vocabularies_;
  v1::Loss loss_;
  uint32_t outputs_;
  bool images_;
  std::map<std::string, uint32_t> columns_;  // Columns by their name or number.
  std::vector<Input> inputs_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_SERVED_INPUTS_H_
