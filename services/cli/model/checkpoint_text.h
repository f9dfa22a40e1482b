// Checkpoints as people read them. Pure functions.
#ifndef CAPSTAN_CLI_MODEL_CHECKPOINT_TEXT_H_
#define CAPSTAN_CLI_MODEL_CHECKPOINT_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "capstan/checkpoint/checkpoint_list.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "cli/model/model_diff.h"

namespace capstan::cli {

// Returns a line for each checkpoint, the newest last.
std::vector<std::string> ListText(absl::Span<const ListedCheckpoint> list, absl::Time now);
// Returns a line for each thing in the folder that is no checkpoint and is left alone, with the
// reason.
std::vector<std::string> ForeignText(const CheckpointFolder& folder);
// Returns what is deleted if the checkpoints `ids` of the folder at `uri` are pruned, and what is
// left alone, and how a damaged one is deleted.
std::vector<std::string> PruneText(const CheckpointFolder& folder, const std::string& uri,
                                   absl::Span<const std::string> ids);
// Returns a line for each checkpoint of which ListText says that it is damaged, but not for `but`.
std::vector<std::string> DamagedText(const CheckpointFolder& folder, const std::string& but);
// Returns each message about a partition once, with the number of partitions that have the same.
std::vector<std::string> PartitionsText(absl::Span<const std::string> messages);
// Returns the message that no job's state says which checkpoints of the folder at `uri` are needed.
std::string NoStateText(const std::string& uri);
// Returns whether a folder, as listed, holds one by the name `checkpoints`, as that of a job does.
bool HoldsCheckpointsFolder(const CheckpointFolder& folder);
// Returns the error that the folder at `uri` holds no checkpoints, with a hint where to look
// instead.
absl::Status NoCheckpoints(const std::string& uri, absl::Span<const ForeignEntry> found);
std::vector<std::string> ShowText(const CheckpointReader& reader, absl::Time now);
std::vector<std::string> DiffText(absl::Span<const PartDiff> diffs);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_CHECKPOINT_TEXT_H_
