// The bound of any gRPC parameter server on this machine: chunks of 1 MiB on one stream with
// nothing behind it, the receiver copies; and a bare unary call.
#ifndef CAPSTAN_TESTS_BENCH_DATAPLANE_RAW_STREAM_H_
#define CAPSTAN_TESTS_BENCH_DATAPLANE_RAW_STREAM_H_

namespace capstan::bench {

// Measures both (P0) with a server process on core 0. REQUIRES: gRPC has not been used in this
// process.
void RunRawStream();

}  // namespace capstan::bench

#endif  // CAPSTAN_TESTS_BENCH_DATAPLANE_RAW_STREAM_H_
