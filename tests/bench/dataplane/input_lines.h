// Orders to a benchmark: lines of the standard input.
#ifndef CAPSTAN_TESTS_BENCH_DATAPLANE_INPUT_LINES_H_
#define CAPSTAN_TESTS_BENCH_DATAPLANE_INPUT_LINES_H_

#include <optional>
#include <string>

namespace capstan::bench {

// *Thread-compatible.* Nobody else reads the standard input.
class InputLines {
 public:
  // Whether Next would return at once. Does not wait.
  bool Waiting() const;
  // Waits for a line; nothing at the end of the input.
  std::optional<std::string> Next();

 private:
  std::string buffer_;
};

}  // namespace capstan::bench

#endif  // CAPSTAN_TESTS_BENCH_DATAPLANE_INPUT_LINES_H_
