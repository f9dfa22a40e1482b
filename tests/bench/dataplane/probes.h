// Pulls of a row of each partition, and pushes to it, again and again, while shards end or
// partitions move: how long a partition is served by nobody, as a worker sees it.
#ifndef CAPSTAN_TESTS_BENCH_DATAPLANE_PROBES_H_
#define CAPSTAN_TESTS_BENCH_DATAPLANE_PROBES_H_

#include <string>

namespace capstan::bench {

// Pulls a row of each partition every ten milliseconds, or CAPSTAN_BENCH_PAUSE_MS, with `pushes`
// also pushes a gradient to one as often, and follows the views of the chief at `address`. Prints
// "probing" once every partition has been served, and then answers each line of the standard input,
// until its end:
//   BEGAN OVER SHARD   seconds of CLOCK_MONOTONIC: from BEGAN something befell the shard, and from
//                      OVER it surely served no more
// once each partition has answered a pull that began after OVER, and a second has passed, with
//   {"moved": [...], "others": [...]}
// milliseconds. `moved`: for each partition that the shard had served, from BEGAN to the answer of
// the first pull that began after OVER. `others`: for each other partition the longest wait for a
// pull that was asked or answered since BEGAN, its repetitions included.
//   BEGAN              since then partitions may have moved
// once each partition has answered calls that began after the question, with
//   {"pulls": {"moved": {"calls": N, "p99.9": MS, "longest": MS}, "others": ...}, "pushes": ...}
// `moved`: how long calls for those partitions took, their repetitions included, that another shard
// answers now. `others`: the same of the others. null: there are none.
void RunProbes(const std::string& folder, const std::string& address, bool pushes);

}  // namespace capstan::bench

#endif  // CAPSTAN_TESTS_BENCH_DATAPLANE_PROBES_H_
