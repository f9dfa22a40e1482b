// What a served model is asked about: the inputs of a request as records.
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

// Immutable, hence thread-safe. Of records of text a request has either the input `records`, a line
// each in the format of the job, or one input a column: named as the job names it, or by its number
// where it only counts. Of images it has `pixels`, a row each.
class ServedInputs {
 public:
  // `vocabularies`: of data.features, where these have some.
  explicit ServedInputs(const v1::JobSpec& job, Vocabularies vocabularies = {});

  struct Input {
    std::string name;
    std::string datatype;
    size_t width = 1;  // Numbers a record.
  };
  // What a request may have: `records` or `pixels`, and the columns.
  const std::vector<Input>& inputs() const { return inputs_; }

  // The records. INVALID_ARGUMENT names the input, or the record, and what was expected.
  absl::StatusOr<Batch> Read(const InferRequest& request) const;

 private:
  absl::StatusOr<Batch> ReadPixels(const InferRequest& request) const;
  absl::StatusOr<Batch> ReadLines(const std::vector<std::string>& lines) const;
  absl::StatusOr<std::vector<std::string>> JoinColumns(const InferRequest& request) const;

  v1::DataSpec data_;  // As text.
  Vocabularies vocabularies_;
  v1::Loss loss_;
  uint32_t outputs_;
  bool images_;
  std::map<std::string, uint32_t> columns_;  // By name, or number.
  std::vector<Input> inputs_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_SERVED_INPUTS_H_
