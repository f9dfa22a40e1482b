// A model of towers as an ONNX graph (https://onnx.ai, opset 13), for ONNX Runtime, Triton,
// OpenVINO and whatever else computes such graphs.
//
// The graph begins behind the rows of keys: hashing texts and looking rows up is no business of
// ONNX. It has those of these inputs, all of float32, that a tower reads:
//   linear    [records, keys, outputs]        the segment `linear` of each key's row
//   embedding [records, keys, embedding_dim]  the segment `embedding` of each key's row
//   values    [records, keys]                 by what each key is multiplied: libsvm and libfm only
//   numbers   [records, data.dense_width]     the dense input, transformed and scaled
// Its output `score` [records, outputs] is what `capstan predict` writes. Where records have
// varying numbers of keys, zeros fill them up, to one key at least.
#ifndef CAPSTAN_CLI_ONNX_ONNX_MODEL_H_
#define CAPSTAN_CLI_ONNX_ONNX_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// Where a tensor's float32 elements are in a file beside the graph's.
struct StoredArray {
  std::vector<int64_t> shape;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// INVALID_ARGUMENT, saying what to use instead, if the model has no graph: a user's program
// computes it, the user has linked one of its towers, it reads nothing of a record, or its towers
// and tensors do not agree.
absl::Status CheckForOnnx(const v1::JobSpec& job);

// The serialised onnx.ModelProto. The parameters are not in it: it names `file`, which lies in the
// same folder, and the place in it of each of `arrays`, which are by the names of the job's
// tensors. So the graph is small, however large the model. REQUIRES: CheckForOnnx.
std::string OnnxModel(const v1::JobSpec& job, const std::string& file,
                      const std::map<std::string, StoredArray>& arrays);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_ONNX_ONNX_MODEL_H_
