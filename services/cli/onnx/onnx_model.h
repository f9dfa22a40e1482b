// A model of towers as an ONNX graph (https://onnx.ai, opset 13), for ONNX Runtime, Triton,
// OpenVINO and whatever else computes such graphs.
//
// The graph begins behind the rows of keys: hashing texts and looking rows up is no business of
// ONNX. Its inputs are float32, and only those are there that a tower reads:
//   linear    [records, keys, outputs]         the segment `linear` of each key's row
//   embedding [records, keys, embedding_dim]   the segment `embedding` of each key's row
//   values    [records, keys]                  what each key is multiplied by: libsvm and libfm
//   only dense     [records, data.dense_width]      the numbers, transformed and scaled
// Its output `score` [records, outputs] is what `capstan predict` writes. Where records have
// varying numbers of keys, rows of zeros fill them up.
#ifndef CAPSTAN_CLI_ONNX_ONNX_MODEL_H_
#define CAPSTAN_CLI_ONNX_ONNX_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// Where a tensor's float32 elements are in a file beside the graph's.
struct StoredArray {
  std::vector<int64_t> shape;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The serialised onnx.ModelProto. The parameters are not in it: it names `file`, which lies in the
// same folder, and the place in it of each of `arrays`, which are by the names of the job's
// tensors. So the graph is small, however large the model. INVALID_ARGUMENT: the model is a user's
// program, or has a tower of a kind that the user has linked.
absl::StatusOr<std::string> OnnxModel(const v1::JobSpec& job, const std::string& file,
                                      const std::map<std::string, StoredArray>& arrays);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_ONNX_ONNX_MODEL_H_
