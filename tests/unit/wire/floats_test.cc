#include "capstan/wire/floats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/wire/samples.h"

namespace capstan::wire {
namespace {

std::vector<float> Take(const Message& message, size_t at_a_time, size_t count) {
  const grpc::Slice& first = message.slices()[0];
  BytesReader reader(Bytes(&first, first.begin(), message.size()));
  std::vector<float> floats(count, -1);
  for (size_t i = 0; i < count; i += at_a_time) {
    TakeFloats(v1::DTYPE_BFLOAT16, reader, at_a_time, &floats[i]);
  }
  return floats;
}

TEST(FloatsTest, Bfloat16sAreTakenWhereverTheMessageIsCut) {
  std::vector<float> floats;
  for (int i = 0; i < 24; ++i) floats.push_back(static_cast<float>(i) - 7.5f);
  std::string bytes(2 * floats.size(), '\0');
  EXPECT_EQ(PutFloats(v1::DTYPE_BFLOAT16, floats.data(), floats.size(), bytes.data()),
            bytes.data() + bytes.size());
  for (size_t cut = 1; cut < bytes.size() - 1; ++cut) {
    const Message two(Cut(bytes, {cut, 1000}));
    EXPECT_EQ(Take(two, 24, 24), floats) << cut;
    EXPECT_EQ(Take(two, 3, 24), floats) << cut;
    const Message three(Cut(bytes, {cut, 1, 1000}));
    EXPECT_EQ(Take(three, 8, 24), floats) << cut;
  }
}

TEST(FloatsTest, Float32sTravelAsTheyAre) {
  const std::vector<float> floats = {1, -2, 3e-40f};
  std::string bytes(4 * floats.size(), '\0');
  PutFloats(v1::DTYPE_FLOAT32, floats.data(), floats.size(), bytes.data());
  const Message message(Cut(bytes, {5, 1000}));
  BytesReader reader(Bytes(&message.slices()[0], message.slices()[0].begin(), message.size()));
  std::vector<float> taken(3);
  TakeFloats(v1::DTYPE_FLOAT32, reader, 3, taken.data());
  EXPECT_EQ(taken, floats);
}

}  // namespace
}  // namespace capstan::wire
