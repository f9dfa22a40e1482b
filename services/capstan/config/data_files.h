// The files that a job names.
#ifndef CAPSTAN_CONFIG_DATA_FILES_H_
#define CAPSTAN_CONFIG_DATA_FILES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "capstan/config/findings.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Returns whether it is "s3://bucket/name", by its form alone.
bool IsObjectAddress(absl::string_view uri);

// Makes the relative paths of data and checkpoint absolute: they are relative to `folder`, whose
// name is no pattern: where data.train and data.eval may be patterns, what is one there is escaped.
void ResolvePaths(const std::string& folder, v1::JobSpec& spec);

// Refuses data paths that name no file, or one that cannot be read.
void CheckDataFiles(const v1::JobSpec& spec, Findings& findings);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_DATA_FILES_H_
