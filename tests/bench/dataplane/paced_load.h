// Pulls and pushes of a worker at half of what the shard can take, while the shard does something
// else beside, such as a checkpoint.
#ifndef CAPSTAN_TESTS_BENCH_DATAPLANE_PACED_LOAD_H_
#define CAPSTAN_TESTS_BENCH_DATAPLANE_PACED_LOAD_H_

#include <string>

namespace capstan::bench {

// Creates CAPSTAN_BENCH_ROWS (1,000,000) rows, prints "filled", and then does what each line of the
// standard input says, until the next:
//   full    pulls and pushes one after the other; this is the full rate
//   wait    nothing
//   NAME    half of the full rate, each step when it is due. The time of a pull is from then.
//   NAME 20 the same, with pushes of a twentieth of the rows only
// At the end of the input it prints steps a second and percentiles of the pulls for each NAME, all
// phases of that name together.
void RunPacedLoad(const std::string& folder);

}  // namespace capstan::bench

#endif  // CAPSTAN_TESTS_BENCH_DATAPLANE_PACED_LOAD_H_
