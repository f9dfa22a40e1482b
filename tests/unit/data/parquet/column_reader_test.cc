#include "capstan/data/parquet/column_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/data/bytes_of.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/thrift_struct.h"

namespace capstan::parquet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kPlainPage = 0;
constexpr int64_t kPlacesPage = 8;

// A column in a file that holds nothing but its pages.
class ColumnOfPages {
 public:
  ColumnOfPages(Column column, std::string pages, uint64_t values)
      : column_(std::move(column)),
        pages_(std::move(pages)),
        source_(NewTextSource(pages_)),
        chunk_{.physical = column_.physical, .values = values, .end = pages_.size()},
        file_(*source_, FileInfo{"file", pages_.size()}),
        reader_(column_, chunk_, file_) {}

  ColumnReader& reader() { return reader_; }
  // The error of reading all rows.
  absl::Status Error() {
    while (true) {
      const absl::StatusOr<const Cells*> cells =
          column_.list ? reader_.NextEntries() : reader_.Next(1000);
      if (!cells.ok()) return cells.status();
      if ((*cells)->rows() == 0) return absl::OkStatus();
    }
  }

 private:
  const Column column_;
  const std::string pages_;
  const std::unique_ptr<const Source> source_;
  const Chunk chunk_;
  RangedFile file_;
  ColumnReader reader_;
};

Column Integers() { return {.name = "x", .physical = Physical::kInt32}; }
Column IntegersOrNulls() { return {.name = "x", .physical = Physical::kInt32, .optional = true}; }
Column ListsOfIntegers(uint32_t most_definition) {
  return {.name = "x",
          .physical = Physical::kInt32,
          .list = true,
          .list_definition = 1,
          .most_definition = most_definition};
}

std::string Int32s(std::initializer_list<int> numbers) {
  std::string bytes;
  for (const int number : numbers) bytes += BytesOf({number, 0, 0, 0});
  return bytes;
}

std::string DataPage(int64_t values, int64_t encoding, const std::string& body) {
  const auto size = static_cast<int64_t>(body.size());
  const ThriftStruct about = ThriftStruct().Int(1, values).Int(2, encoding).Int(3, 3).Int(4, 3);
  return ThriftStruct().Int(1, 0).Int(2, size).Int(3, size).Struct(5, about).bytes() + body;
}

std::string DictionaryPage(std::initializer_list<int> numbers) {
  const std::string body = Int32s(numbers);
  const auto size = static_cast<int64_t>(body.size());
  const ThriftStruct about = ThriftStruct().Int(1, static_cast<int64_t>(numbers.size())).Int(2, 0);
  return ThriftStruct().Int(1, 2).Int(2, size).Int(3, size).Struct(7, about).bytes() + body;
}

TEST(ColumnReaderTest, PagesAreReadOneBehindTheOther) {
  ColumnOfPages column(Integers(),
                       DataPage(2, kPlainPage, Int32s({7, 8})) + DataPage(0, kPlainPage, "") +
                           DataPage(1, kPlainPage, Int32s({9})),
                       3);
  auto cells = column.reader().Next(10);
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_THAT((*cells)->values.integers, ElementsAre(7, 8));
  cells = column.reader().Next(10);
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_THAT((*cells)->values.integers, ElementsAre(9));
  EXPECT_EQ(column.reader().Next(1).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ColumnReaderTest, PagesThatAreSkippedWholeAreNotDecoded) {
  const std::string pages =
      DataPage(2, /*encoding=*/99, "??") + DataPage(3, kPlainPage, Int32s({7, 8, 9}));
  ColumnOfPages column(Integers(), pages, 5);
  ASSERT_TRUE(column.reader().Skip(3).ok());
  const auto cells = column.reader().Next(10);
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_THAT((*cells)->values.integers, ElementsAre(8, 9));
  ColumnOfPages looked_at(Integers(), pages, 5);
  EXPECT_THAT(std::string(looked_at.reader().Skip(1).message()),
              HasSubstr("file: column \"x\": has INT32 values in encoding number 99; supported"));
}

TEST(ColumnReaderTest, NullsHaveNoValuesInEitherVersionOfPages) {
  const std::string levels = BytesOf({0x03, 0x05});  // Packed: 1, 0, 1.
  const std::string first =
      DataPage(3, kPlainPage, BytesOf({2, 0, 0, 0}) + levels + Int32s({7, 9}));
  const ThriftStruct about =
      ThriftStruct().Int(1, 3).Int(2, 1).Int(3, 3).Int(4, 0).Int(5, 2).Int(6, 0).Flag(7, false);
  const std::string second =
      ThriftStruct().Int(1, 3).Int(2, 10).Int(3, 10).Struct(8, about).bytes() + levels +
      Int32s({7, 9});
  for (const std::string& page : {first, second}) {
    ColumnOfPages column(IntegersOrNulls(), page, 3);
    const auto cells = column.reader().Next(10);
    ASSERT_TRUE(cells.ok()) << cells.status();
    EXPECT_THAT((*cells)->present, ElementsAre(1, 0, 1));
    EXPECT_THAT((*cells)->values.integers, ElementsAre(7, 9));
  }
}

TEST(ColumnReaderTest, PlacesAreThoseOfTheDictionary) {
  const std::string places = BytesOf({/*bit width=*/1, 0x03, 0x02});  // Packed: 0, 1, 0.
  ColumnOfPages column(Integers(), DictionaryPage({10, 20}) + DataPage(3, kPlacesPage, places), 3);
  const auto cells = column.reader().Next(10);
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_THAT((*cells)->places, ElementsAre(0, 1, 0));
  ASSERT_NE((*cells)->dictionary, nullptr);
  EXPECT_THAT((*cells)->dictionary->integers, ElementsAre(10, 20));
}

TEST(ColumnReaderTest, ADictionaryThatDoesNotFitItsPlacesIsDamage) {
  const std::string two = DictionaryPage({10, 20});
  const std::string third = DataPage(1, kPlacesPage, BytesOf({2, 0x02, 0x02}));
  const auto error = [](const std::string& pages) {
    const absl::Status status = ColumnOfPages(Integers(), pages, 1).Error();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    return std::string(status.message());
  };
  EXPECT_THAT(error(two + third), HasSubstr("its dictionary is smaller than its places"));
  EXPECT_THAT(error(third), HasSubstr("file: column \"x\": the page at byte 0: it lacks its"));
  EXPECT_THAT(error(two + two + third), HasSubstr("it has two dictionaries"));
  EXPECT_THAT(error(two + DataPage(1, kPlacesPage, BytesOf({33, 0x02, 0, 0, 0, 0, 0}))),
              HasSubstr("places in its dictionary have too many bits"));
  EXPECT_THAT(error(two + DataPage(1, kPlacesPage, "")),
              HasSubstr("places in its dictionary end early"));
}

TEST(ColumnReaderTest, SizesThatLieAreDamage) {
  const auto error = [](Column column, const std::string& pages) {
    const absl::Status status = ColumnOfPages(std::move(column), pages, 3).Error();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    return std::string(status.message());
  };
  EXPECT_THAT(error(Integers(), DataPage(4, kPlainPage, Int32s({1, 2, 3, 4}))),
              HasSubstr("it has more values than its row group has rows"));
  EXPECT_THAT(error(Integers(), DataPage(3, kPlainPage, Int32s({1, 2}))),
              HasSubstr("the values of a page are malformed, or end early"));
  EXPECT_THAT(error(Integers(), DataPage(3, kPlainPage, Int32s({1, 2, 3})).substr(0, 20)),
              HasSubstr("a page does not end with its column"));
  EXPECT_THAT(error(IntegersOrNulls(), DataPage(3, kPlainPage, BytesOf({9, 0, 0, 0, 3, 7}))),
              HasSubstr("a page ends early"));
  EXPECT_THAT(error(Integers(), "no page"), HasSubstr("no header of a page is here"));
  const ThriftStruct levels = ThriftStruct().Int(1, 3).Int(4, 0).Int(5, 3).Int(6, 3);
  EXPECT_THAT(
      error(Integers(),
            ThriftStruct().Int(1, 3).Int(2, 4).Int(3, 4).Struct(8, levels).bytes() + "...."),
      HasSubstr("a page ends early"));
}

TEST(ColumnReaderTest, APageOfAnotherChecksumIsDamage) {
  const ThriftStruct about = ThriftStruct().Int(1, 1).Int(2, 0).Int(3, 3).Int(4, 3);
  const std::string page =
      ThriftStruct().Int(1, 0).Int(2, 4).Int(3, 4).Int(4, 1234).Struct(5, about).bytes() +
      Int32s({7});
  EXPECT_THAT(std::string(ColumnOfPages(Integers(), page, 1).Error().message()),
              HasSubstr("the checksum of a page is another"));
}

TEST(ColumnReaderTest, AListBeginsWhereItsLevelSaysAndAnEmptyOneHasNoValue) {
  // Repetition 0, 1, 0, 0 and definition 1, 1, 0, 1: the lists [5, 6], [] and [7].
  const std::string body =
      BytesOf({2, 0, 0, 0, 0x03, 0x02}) + BytesOf({2, 0, 0, 0, 0x03, 0x0B}) + Int32s({5, 6, 7});
  ColumnOfPages column(ListsOfIntegers(1), DataPage(4, kPlainPage, body), 4);
  auto cells = column.reader().NextEntries();
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_THAT((*cells)->begins, ElementsAre(1, 0, 1, 1));
  EXPECT_THAT((*cells)->present, ElementsAre(1, 1, 0, 1));
  EXPECT_THAT((*cells)->values.integers, ElementsAre(5, 6, 7));
  cells = column.reader().NextEntries();
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_EQ((*cells)->rows(), 0u);
}

TEST(ColumnReaderTest, WholePagesOfListsAreSkippedAsLongAsNoFurtherRowBeginsInThem) {
  const auto page = [](int levels, std::initializer_list<int> numbers) {
    return DataPage(
        2, kPlainPage,
        BytesOf({2, 0, 0, 0, 0x03, levels}) + BytesOf({2, 0, 0, 0, 0x03, 0x03}) + Int32s(numbers));
  };
  // The lists [1, 2], [3, 4, 5] and [6]: the second one goes on in the third page.
  const std::string pages = page(2, {1, 2}) + page(2, {3, 4}) + page(1, {5, 6});
  ColumnOfPages column(ListsOfIntegers(1), pages, 6);
  const auto skipped = column.reader().SkipPages(2);
  ASSERT_TRUE(skipped.ok()) << skipped.status();
  EXPECT_EQ(*skipped, 2u);
  const auto cells = column.reader().NextEntries();
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_THAT((*cells)->begins, ElementsAre(0, 1));
  EXPECT_THAT((*cells)->values.integers, ElementsAre(5, 6));
}

TEST(ColumnReaderTest, LevelsThatTheSchemaDoesNotHaveAreDamage) {
  const std::string body = BytesOf({2, 0, 0, 0, 0x03, 0x00}) + BytesOf({3, 0, 0, 0, 0x03, 3, 0});
  ColumnOfPages column(ListsOfIntegers(2), DataPage(1, kPlainPage, body), 1);
  EXPECT_THAT(std::string(column.Error().message()),
              HasSubstr("a page has levels that its schema does not have"));
}

}  // namespace
}  // namespace capstan::parquet
