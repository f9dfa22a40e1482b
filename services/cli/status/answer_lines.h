// Answers questions that arrive line by line from a command elsewhere, which has started this one.
#ifndef CAPSTAN_CLI_STATUS_ANSWER_LINES_H_
#define CAPSTAN_CLI_STATUS_ANSWER_LINES_H_

#include "absl/time/time.h"
#include "cli/status/status_source.h"

namespace capstan::cli {

// The command that started this one may be gone without notice, so this one ends if no question
// arrives for so long.
inline constexpr absl::Duration kSilence = absl::Seconds(30);

// For each line read from the file descriptor `in`, writes one line to `out`: the status as JSON,
// or in words why there is none. Returns at the end of `in`, after `silence` without a question, or
// when `out` cannot be written.
void AnswerLines(StatusSource& source, int in, int out, absl::Duration silence = kSilence);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_ANSWER_LINES_H_
