// The names of a checkpoint's folder and of the objects in it. Anything with another name is
// somebody else's: it is never deleted, and nothing is written beside it. Pure functions.
#ifndef CAPSTAN_CHECKPOINT_CHECKPOINT_NAMES_H_
#define CAPSTAN_CHECKPOINT_CHECKPOINT_NAMES_H_

#include <string_view>

namespace capstan {

// "<step>-<id>": digits, a hyphen, then letters, digits and "._-".
bool IsCheckpointName(std::string_view name);

// Returns true for "MANIFEST.json" and for names that PartitionFileName gives. `name` is relative
// to the checkpoint's folder: an object in a folder below that is never one of the checkpoint.
bool IsCheckpointObject(std::string_view name);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_NAMES_H_
