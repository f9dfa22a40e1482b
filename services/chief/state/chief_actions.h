// What the chief's machine asks its shell to do, and the answers it gets to its calls.
#ifndef CAPSTAN_CHIEF_STATE_CHIEF_ACTIONS_H_
#define CAPSTAN_CHIEF_STATE_CHIEF_ACTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/message/any_message.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/chief_state.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan::chief {

// A request to a shard by any RPC of capstan/v1/ps.proto, and the reply to it.
using ShardRequest = AnyMessage;
using ShardReply = AnyMessage;

// Sends the view to every watcher. A slow watcher may skip views, for the newest one wins.
struct PublishView {
  v1::View view;
};

// One attempt of one call to a shard. Its answer, or its failure, comes back as OnShardReply(call,
// ...) exactly once. The machine repeats attempts that fail, so a shard may get each of these calls
// more than once.
struct CallShard {
  uint64_t call = 0;
  uint32_t shard = 0;
  std::string address;
  uint64_t incarnation = 0;  // The incarnation of the process that is called.
  absl::Duration deadline;
  ShardRequest request;
};

// Writes the state, on the condition that the stored one is the one that this chief wrote last.
// Answered by OnStateStored, with ABORTED if another chief has written since.
struct StoreState {
  v1::ChiefState state;
};

// Writes the manifest of a checkpoint. It is the last object that is written: every shard has saved
// its partitions. Answered by OnManifestWritten.
struct WriteManifest {
  std::string uri;  // Folder of the checkpoint.
  v1::Manifest manifest;
};

// Reads a manifest. Answered by OnManifestRead, with NOT_FOUND or DATA_LOSS if the checkpoint does
// not exist any more.
struct ReadManifest {
  std::string uri;  // Folder of the checkpoint.
};

// Deletes checkpoints that nobody needs any more, complete or not. There is no answer.
struct DeleteCheckpoints {
  std::vector<std::string> ids;
  // Checkpoints whose manifest may or may not be stored. Those that have one are kept. The others
  // are first made impossible to complete, and then deleted.
  std::vector<std::string> uncertain = {};
};

// The answer to TakeCheckpoint(asker): the folder of the checkpoint, or why there is none.
struct AnswerCheckpoint {
  uint64_t asker = 0;
  absl::StatusOr<std::string> uri;
};

// A line of the learning curve. `evaluation` is set (its number is > 0) if one has just ended.
struct AppendCurve {
  double elapsed_seconds = 0;
  uint64_t examples = 0;
  uint64_t step = 0;
  std::optional<double> loss;  // nullopt: not known yet.
  double examples_per_second = 0;
  v1::Evaluation evaluation;
};

// One line of the log.
struct LogEvent {
  enum class Level { kInfo, kWarning, kError };
  Level level = Level::kInfo;
  std::string message;
  std::vector<std::pair<std::string, std::string>> fields;
};

using Action = std::variant<PublishView, CallShard, StoreState, WriteManifest, ReadManifest,
                            DeleteCheckpoints, AnswerCheckpoint, AppendCurve, LogEvent>;

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_CHIEF_ACTIONS_H_
