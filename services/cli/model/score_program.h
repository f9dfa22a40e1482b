// score.py: computes a model's scores from its export, with NumPy and without Capstan.
#ifndef CAPSTAN_CLI_MODEL_SCORE_PROGRAM_H_
#define CAPSTAN_CLI_MODEL_SCORE_PROGRAM_H_

#include <string_view>

namespace capstan::cli {

inline constexpr char kScoreProgramName[] = "score.py";

// Returns the text of the program. It is the same for every model, as the program reads the layout
// from job.json.
std::string_view ScoreProgram();

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_SCORE_PROGRAM_H_
