// Says what `capstan train` prints at the end. Pure functions.
#ifndef CAPSTAN_CLI_STATUS_LAST_WORDS_H_
#define CAPSTAN_CLI_STATUS_LAST_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::cli {

struct LastWordsOptions {
  std::string program = "capstan";  // How the user calls `capstan`.
  std::string job_file;
  int shards = 1;
  int workers = 1;
  uint32_t epochs = 1;
  bool worked = true;                  // False: the job had been completed before.
  bool held_out = true;                // False: the job has no held-out records.
  std::vector<std::string> overrides;  // As the user gave them.
  std::string run_folder;              // As the user gave it; empty: not given.
  std::string from = {};               // The --from that the user gave; empty: not given.
  std::string worker = {};             // The command of the user's own program; empty: none.
  bool keep_going = false;
  int chief_port = 0;    // 0: any.
  std::string tls = {};  // The folder of certificates that the user gave; empty: not given.
};

// Returns the lines for a completed job: held-out metrics, where the model and the curve are, and
// what to try next.
std::vector<std::string> LastWords(const v1::GetStatusReply& status,
                                   const LastWordsOptions& options);

// Returns the lines for a job that was stopped before its end: what is saved where, and how to go
// on. `saved` is the job's last checkpoint, or why the latest training is not saved.
std::vector<std::string> StopWords(const v1::GetStatusReply& status,
                                   const absl::StatusOr<std::string>& saved,
                                   const LastWordsOptions& options);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_LAST_WORDS_H_
