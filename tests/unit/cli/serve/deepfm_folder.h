// A small model of towers in a folder of its own, for tests of what computes models.
#ifndef CAPSTAN_TESTS_UNIT_CLI_SERVE_DEEPFM_FOLDER_H_
#define CAPSTAN_TESTS_UNIT_CLI_SERVE_DEEPFM_FOLDER_H_

#include <cstdint>
#include <string>

#include "capstan/data/formats/batch.h"
#include "capstan/v1/job.pb.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {

// A checkpoint of a job as it begins: records of four keys and two numbers.
class DeepFmFolder {
 public:
  DeepFmFolder();

  const std::string& path() const { return path_; }

 private:
  const TestFolder temporary_;
  const std::string path_ = temporary_.path();
};

// Records of that job; other ones with each seed.
Batch BatchOf(size_t examples, uint64_t seed);

}  // namespace capstan::cli

#endif  // CAPSTAN_TESTS_UNIT_CLI_SERVE_DEEPFM_FOLDER_H_
