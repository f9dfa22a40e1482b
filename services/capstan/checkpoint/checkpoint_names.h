// The names of a checkpoint's folder and of the objects in it. Anything with another name does not
// belong to Capstan: it is never deleted, and nothing is written beside it. Pure functions.
#ifndef CAPSTAN_CHECKPOINT_CHECKPOINT_NAMES_H_
#define CAPSTAN_CHECKPOINT_CHECKPOINT_NAMES_H_

#include <string_view>

namespace capstan {

// Returns true for "<step>-<id>": digits, a hyphen, then letters, digits and "._-".
bool IsCheckpointName(std::string_view name);

// Returns true for "MANIFEST.json" and for the names that PartitionFileName returns. `name` is
// relative to the checkpoint's folder; objects in its subfolders never belong to the checkpoint.
bool IsCheckpointObject(std::string_view name);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_NAMES_H_
