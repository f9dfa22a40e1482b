// Checks and resolves the files that a job names.
#ifndef CAPSTAN_CONFIG_DATA_FILES_H_
#define CAPSTAN_CONFIG_DATA_FILES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "capstan/config/findings.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns true if `uri` has the form "s3://bucket/name".
bool IsObjectAddress(absl::string_view uri);

// Makes the relative paths of data and checkpoint, which are relative to `folder`, absolute. If a
// path may be a pattern (data.train, data.eval), special characters in the name of `folder` are
// escaped.
void ResolvePaths(const std::string& folder, v1::JobSpec& spec);

// Refuses data paths that name no file, or a file that cannot be read.
void CheckDataFiles(const v1::JobSpec& spec, Findings& findings);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_DATA_FILES_H_
