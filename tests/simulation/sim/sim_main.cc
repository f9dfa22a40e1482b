// The command line of sim_test.
//
//   sim_test                    every test
//   sim_test --seeds 5000       so many seeds in each part
//   sim_test --seed 17 --trace  one history, told as it happens
//   sim_test --seed 1 --count 9 the seeds 1 to 9: those that break a rule
//   sim_test --moves --seed 17  the same of jobs whose shards come and go
//   sim_test --replicas --seed 17  the same of jobs with replicas: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "capstan/base/log.h"
#include "tests/simulation/sim/seeds.h"
#include "tests/simulation/sim/world.h"

namespace capstan::sim {
namespace {

void Print(uint64_t seed, const Verdict& verdict) {
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "seed %llu: %s, %llu events, %.1f s, %llu timelines, %llu chiefs, %llu checkpoints, %llu "
      "moves, %llu promotions, digest %016llx\n",
      number(seed), verdict.violation.empty() ? "every rule held" : verdict.violation.c_str(),
      number(verdict.events), absl::ToDoubleSeconds(verdict.length), number(verdict.timelines),
      number(verdict.terms), number(verdict.manifests), number(verdict.moved),
      number(verdict.promotions), number(verdict.digest));
  std::fflush(stdout);
}

// Tells of one history; of many only those that break a rule.
int RunFrom(MakeWorld make, uint64_t first, uint64_t count, bool trace) {
  uint64_t broken = 0;
  uint64_t moved = 0;
  uint64_t promotions = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    WorldOptions world = make(seed);
    world.trace = trace;
    const Verdict verdict = World(world).Run();
    broken += verdict.violation.empty() ? 0 : 1;
    moved += verdict.moved;
    promotions += verdict.promotions;
    if (count == 1 || !verdict.violation.empty()) Print(seed, verdict);
  }
  std::printf("%llu seeds, %llu moves of partitions, %llu promotions\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(moved),
              static_cast<unsigned long long>(promotions));
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace capstan::sim

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  std::optional<uint64_t> first;
  uint64_t count = 1;
  bool trace = false;
  capstan::sim::MakeWorld make = capstan::sim::WorldOf;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--trace") trace = true;
    if (word == "--moves") make = capstan::sim::MovesOf;
    if (word == "--replicas") make = capstan::sim::BackupsOf;
    if (i + 1 == argc) continue;
    const uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (word == "--seeds") {
      capstan::sim::g_seed_counts.any = capstan::sim::g_seed_counts.moves =
          capstan::sim::g_seed_counts.backups = number;
    }
    if (word == "--seed") first = number;
    if (word == "--count") count = number;
  }
  // What savers and loaders say comes in real time, and is of little use here.
  capstan::log::Init({.level = capstan::log::Level::kError});
  if (first) return capstan::sim::RunFrom(make, *first, count, trace);
  return RUN_ALL_TESTS();
}
