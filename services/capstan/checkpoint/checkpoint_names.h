// What the folder of a checkpoint and the objects in it are called. Whatever has another name is
// somebody else's: it is never deleted, nor is anything written beside it. Pure functions.
#ifndef CAPSTAN_CHECKPOINT_CHECKPOINT_NAMES_H_
#define CAPSTAN_CHECKPOINT_CHECKPOINT_NAMES_H_

#include <string_view>

namespace capstan {

// "<step>-<id>": digits, a hyphen, then letters, digits and "._-".
bool IsCheckpointName(std::string_view name);

// "MANIFEST.json", or a name that PartitionFileName gives. `name` counts from the checkpoint's
// folder: nothing below a further folder is an object of a checkpoint.
bool IsCheckpointObject(std::string_view name);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_NAMES_H_
