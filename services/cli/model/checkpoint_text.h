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

// A line each, the newest last.
std::vector<std::string> ListText(absl::Span<const ListedCheckpoint> list, absl::Time now);
// A line for each thing in the folder that is left alone, and why.
std::vector<std::string> ForeignText(const CheckpointFolder& folder);
// What is deleted when these checkpoints are, and what is left alone.
std::vector<std::string> PruneText(const CheckpointFolder& folder,
                                   absl::Span<const std::string> ids);
// That no job's state says which checkpoints of the folder at `uri` are needed.
std::string NoStateText(const std::string& uri);
// Why there is nothing to look after at `uri`, and where to look instead.
absl::Status NoCheckpoints(const std::string& uri, absl::Span<const ForeignEntry> found);
std::vector<std::string> ShowText(const CheckpointReader& reader, absl::Time now);
std::vector<std::string> DiffText(absl::Span<const PartDiff> diffs);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_CHECKPOINT_TEXT_H_
