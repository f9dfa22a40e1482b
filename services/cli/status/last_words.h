// What `capstan train` says when a job has ended well. A pure function.
#ifndef CAPSTAN_CLI_STATUS_LAST_WORDS_H_
#define CAPSTAN_CLI_STATUS_LAST_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::cli {

struct LastWordsOptions {
  std::string program = "capstan";  // As it is called.
  std::string job_file;
  int shards = 1;
  int workers = 1;
  uint32_t epochs = 1;
  bool worked = true;                  // False: it had been completed before.
  bool held_out = true;                // False: the job has no held-out records.
  std::vector<std::string> overrides;  // As the user gave them.
  std::string run_folder;              // As the user gave it; empty: not.
  std::string from = {};               // The same, of what the job began with.
  std::string worker = {};             // The user's own program, as it was given; empty: none.
  bool keep_going = false;
};

// Held-out metrics, where the model and the curve are, and what to try next.
std::vector<std::string> LastWords(const v1::GetStatusReply& status,
                                   const LastWordsOptions& options);

// What is said of a job that was stopped before its end: what is saved where, and how to go on.
// `saved` is its checkpoint, or why what was trained last is not saved.
std::vector<std::string> StopWords(const v1::GetStatusReply& status,
                                   const absl::StatusOr<std::string>& saved,
                                   const LastWordsOptions& options);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_LAST_WORDS_H_
