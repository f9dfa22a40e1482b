// What the chief writes below <checkpoint uri>/<job>: the learning curve and the manifests.
#ifndef CAPSTAN_CHIEF_JOB_FILES_H_
#define CAPSTAN_CHIEF_JOB_FILES_H_

#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"
#include "chief/chief_actions.h"

namespace capstan::chief {

// Thread-compatible.
class JobFiles {
 public:
  // Begins a new curve. INVALID_ARGUMENT: the uri is not usable; the folder cannot be made or
  // written.
  static absl::StatusOr<std::unique_ptr<JobFiles>> Open(v1::JobSpec spec);

  // Whole lines reach the file at once, so that it can be followed. In a bucket the curve is an
  // object, put there with the manifest. Does nothing without a uri.
  void AppendCurve(const chief::AppendCurve& point);

  // The model is complete once this has returned OK.
  [[nodiscard]] absl::Status WriteManifest(chief::WriteManifest manifest);

 private:
  explicit JobFiles(v1::JobSpec spec) : spec_(std::move(spec)) {}

  const v1::JobSpec spec_;
  std::ofstream curve_;
  std::string curve_object_;  // What it is to hold; empty: the curve is a file.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_FILES_H_
