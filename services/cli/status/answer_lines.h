// Answers questions that come line by line, for a command elsewhere that has started this one.
#ifndef CAPSTAN_CLI_STATUS_ANSWER_LINES_H_
#define CAPSTAN_CLI_STATUS_ANSWER_LINES_H_

#include "absl/time/time.h"
#include "cli/status/status_source.h"

namespace capstan::cli {

// Who has started it may be gone without a word: so long no question comes, and it ends.
inline constexpr absl::Duration kSilence = absl::Seconds(30);

// For each line that comes from the file descriptor `in` one goes to `out`: the status as JSON, or
// in words why there is none. Returns at the end of `in`, after `silence`, or when nobody reads.
void AnswerLines(StatusSource& source, int in, int out, absl::Duration silence = kSilence);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_ANSWER_LINES_H_
