// The text of MANIFEST.json. See FORMAT.md.
#ifndef CAPSTAN_CHECKPOINT_MANIFEST_H_
#define CAPSTAN_CHECKPOINT_MANIFEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/checkpoint.pb.h"

namespace capstan {

// Returns the text of the manifest, with its format set. INVALID_ARGUMENT: a partition is missing
// or named twice.
absl::StatusOr<std::string> ManifestText(const v1::Manifest& manifest);

// DATA_LOSS: a byte was changed or is missing. FAILED_PRECONDITION: the format is not known.
absl::StatusOr<v1::Manifest> ParseManifest(const std::string& text);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_MANIFEST_H_
