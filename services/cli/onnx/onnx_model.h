// A model of towers as an ONNX graph (https://onnx.ai, opset 13), for ONNX Runtime, Triton,
// OpenVINO and whatever else computes such graphs.
//
// The graph begins behind the rows of keys: hashing texts and looking up rows is left to the
// caller. Its inputs are those of the following, all float32, that a tower reads:
//   linear    [records, keys, outputs]        the segment `linear` of each key's row
//   embedding [records, keys, embedding_dim]  the segment `embedding` of each key's row
//   values    [records, keys]                 by what each key is multiplied: libsvm and libfm only
//   numbers   [records, data.dense_width]     the dense input, transformed and scaled
// With data.features the caller pools the rows of each feature's keys, and the pooled rows are
// those of the keys above, one for each feature. Where features differ in the length of their
// embeddings, there is in place of `embedding`
//   embeddings [records, all their lengths]   the pooled embeddings of the features, side by side
// Its output `score` [records, outputs] is what `capstan predict` writes. Where records have
// different numbers of keys, the caller pads them with zeros, to at least one key.
#ifndef CAPSTAN_CLI_ONNX_ONNX_MODEL_H_
#define CAPSTAN_CLI_ONNX_ONNX_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// Where the float32 elements of a tensor lie in a file beside the graph.
struct StoredArray {
  std::vector<int64_t> shape;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Checks that the model has a graph. INVALID_ARGUMENT, with what to use instead: a user's program
// computes the model, one of its towers is the user's own, it reads nothing of a record, or its
// towers and tensors do not agree.
absl::Status CheckForOnnx(const v1::JobSpec& job);

// Returns the serialised onnx.ModelProto. It does not contain the parameters, but names `file`,
// which lies in the same folder, and the place there of each of `arrays`, whose keys are the names
// of the job's tensors. So the graph is small, however large the model is. REQUIRES:
// CheckForOnnx(job) is OK.
std::string OnnxModel(const v1::JobSpec& job, const std::string& file,
                      const std::map<std::string, StoredArray>& arrays);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_ONNX_ONNX_MODEL_H_
