// What a step allocates, by a count of operator new.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "capstan/model/network.h"
#include "model_fixture.h"

namespace {
thread_local int64_t allocations = 0;
}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace capstan {
namespace {

TEST(AllocationsTest, NetworkAllocatesNothingOnceItHasSeenItsLargestBatch) {
  for (const char* preset : {"deepfm", "dcn_v2", "dlrm", "lr"}) {
    v1::JobSpec spec = SpecOf(preset, 4, 2);
    spec.mutable_model()->set_batch_norm(preset != std::string("lr"));
    spec.mutable_model()->set_dropout(preset == std::string("dlrm") ? 0.5f : 0);
    ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
    const absl::StatusOr<std::unique_ptr<Network>> created = Network::Create(spec);
    ASSERT_TRUE(created.ok()) << created.status();
    Network& network = **created;
    const RandomBatch large(spec, 64, 1), small(spec, 60, 2);
    network.ForwardBackward(large.Input());
    const int64_t before = allocations;
    network.ForwardBackward(small.Input());
    network.ForwardBackward(large.Input());
    EXPECT_EQ(allocations, before) << preset;
  }
}

TEST(AllocationsTest, NeitherDoesOneOfFeatures) {
  v1::JobSpec spec = SpecOfFeatures("wide_deep", 2, 3, 5);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const auto network = NetworkOf(spec);
  const RandomBatch large(spec, 64, 1), small(spec, 60, 2);
  const NetworkInput first = large.Input(), second = small.Input();
  network->ForwardBackward(first);
  const int64_t before = allocations;
  network->ForwardBackward(second);
  network->ForwardBackward(first);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace capstan
