// Where the learning curve of a job is.
#ifndef CAPSTAN_CHIEF_MACHINES_CURVE_URI_H_
#define CAPSTAN_CHIEF_MACHINES_CURVE_URI_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Returns the uri of the curve; empty if the job has no checkpoint uri, and therefore no curve.
inline std::string CurveUri(const v1::JobSpec& spec) {
  const std::string& uri = spec.checkpoint().uri();
  if (uri.empty()) return "";
  return absl::StrCat(absl::StripSuffix(uri, "/"), "/", spec.job(), "/curve.csv");
}

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_CURVE_URI_H_
