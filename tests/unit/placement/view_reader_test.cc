#include "capstan/placement/view_reader.h"

#include <gtest/gtest.h>

#include "capstan/placement/view_difference.h"
#include "capstan/placement/view_epoch.h"

namespace capstan {
namespace {

constexpr size_t kMostBytes = 1000;

v1::View ReadView(uint64_t n, uint32_t owners) {
  v1::View view;
  ToProto(ViewEpoch{.term = 1, .n = n}, *view.mutable_epoch());
  for (uint32_t i = 0; i < owners; ++i) view.add_owners(i);
  return view;
}

v1::View ToldByDifference(const v1::View& before, const v1::View& after) {
  v1::View message;
  *message.mutable_difference() = DifferenceOf(before, after);
  return message;
}

void ExpectView(const absl::StatusOr<v1::View>& read, const v1::View& expected) {
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), expected.SerializeAsString());
}

TEST(ViewReaderTest, ReadsWholeViewsAndDifferencesAsTheyCome) {
  const v1::View first = ReadView(1, 2), second = ReadView(2, 3), third = ReadView(5, 1),
                 fourth = ReadView(6, 4);
  ViewReader reader(kMostBytes);
  ExpectView(reader.Read(first), first);
  ExpectView(reader.Read(ToldByDifference(first, second)), second);
  ExpectView(reader.Read(ToldByDifference(second, third)), third);
  ExpectView(reader.Read(fourth), fourth);
  ExpectView(reader.Read(ToldByDifference(fourth, ReadView(7, 0))), ReadView(7, 0));
}

TEST(ViewReaderTest, AChiefThatSendsWholeViewsOnlyIsHeardAsBefore) {
  ViewReader reader(kMostBytes);
  for (uint64_t n = 1; n < 4; ++n) ExpectView(reader.Read(ReadView(n, 2)), ReadView(n, 2));
}

TEST(ViewReaderTest, AStreamThatBeginsWithADifferenceIsRefused) {
  // Although its base has the epoch of a view that says nothing.
  const v1::View message = ToldByDifference(v1::View(), ReadView(1, 1));
  ViewReader reader(kMostBytes);
  EXPECT_EQ(reader.Read(message).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ViewReaderTest, ADifferenceToAViewThatWasNotToldLastIsRefused) {
  ViewReader reader(kMostBytes);
  ExpectView(reader.Read(ReadView(1, 1)), ReadView(1, 1));
  ExpectView(reader.Read(ReadView(2, 1)), ReadView(2, 1));
  EXPECT_EQ(reader.Read(ToldByDifference(ReadView(1, 1), ReadView(3, 1))).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(ViewReaderTest, DifferencesMakeNoViewWithoutBounds) {
  ViewReader reader(kMostBytes);
  v1::View view = ReadView(1, 1);
  absl::StatusOr<v1::View> read = reader.Read(view);
  for (uint64_t n = 2; read.ok(); ++n) {
    EXPECT_LE(read->ByteSizeLong(), kMostBytes);
    const v1::View next = ReadView(n, static_cast<uint32_t>(n) * 100);
    read = reader.Read(ToldByDifference(view, next));
    view = next;
  }
  EXPECT_EQ(read.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace capstan
