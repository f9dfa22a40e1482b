#include "capstan/data/parquet/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/data/parquet/thrift_struct.h"

namespace capstan::parquet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kOptionalNode = 1;
constexpr int64_t kRepeatedNode = 2;

absl::StatusOr<Schema> SchemaOf(const std::vector<ThriftStruct>& nodes) {
  const std::string bytes = ThriftStruct().List(2, nodes).bytes();
  ThriftReader in(bytes);
  ThriftField field;
  EXPECT_TRUE(in.Next(field));
  return ReadSchema(in, field);
}

// The only column of a schema of one leaf.
Column OnlyColumn(const ThriftStruct& leaf) {
  const absl::StatusOr<Schema> schema = SchemaOf({BranchNode("schema", 1), leaf});
  EXPECT_TRUE(schema.ok()) << schema.status();
  return schema.ok() && schema->columns.size() == 1 ? schema->columns[0] : Column();
}

TEST(ReadSchemaTest, AColumnKnowsItsLeafAndWhetherItsCellsMayBeNull) {
  const auto schema =
      SchemaOf({BranchNode("schema", 3), LeafNode("a", 1), BranchNode("s", 2, kOptionalNode),
                LeafNode("s1", 4), LeafNode("s2", 5), LeafNode("b", 6, kOptionalNode)});
  ASSERT_TRUE(schema.ok()) << schema.status();
  ASSERT_EQ(schema->columns.size(), 3u);
  EXPECT_THAT(schema->leaves, ElementsAre(Physical::kInt32, Physical::kFloat, Physical::kDouble,
                                          Physical::kByteArray));
  EXPECT_EQ(schema->columns[0].name, "a");
  EXPECT_FALSE(schema->columns[0].optional);
  EXPECT_EQ(schema->columns[0].unreadable, "");
  EXPECT_EQ(schema->columns[1].name, "s");
  EXPECT_THAT(schema->columns[1].unreadable, HasSubstr("is a map or a struct"));
  EXPECT_EQ(schema->columns[2].leaf, 3u);
  EXPECT_TRUE(schema->columns[2].optional);
}

TEST(ReadSchemaTest, AListHasTheDefinitionsOfItsThreeLevels) {
  const auto schema =
      SchemaOf({BranchNode("schema", 2), BranchNode("x", 1, kOptionalNode),
                BranchNode("list", 1, kRepeatedNode), LeafNode("element", 2, kOptionalNode),
                LeafNode("plain", 2, kRepeatedNode)});
  ASSERT_TRUE(schema.ok()) << schema.status();
  const Column& list = schema->columns[0];
  EXPECT_TRUE(list.list);
  EXPECT_EQ(list.name, "x");
  EXPECT_EQ(list.list_definition, 2u);
  EXPECT_EQ(list.most_definition, 3u);
  EXPECT_EQ(list.unreadable, "");
  const Column& plain = schema->columns[1];
  EXPECT_TRUE(plain.list) << "a value that is repeated is a list";
  EXPECT_EQ(plain.list_definition, 1u);
  EXPECT_EQ(plain.most_definition, 1u);
}

TEST(ReadSchemaTest, AListOfListsIsNotReadable) {
  const auto schema = SchemaOf({BranchNode("schema", 1), BranchNode("x", 1, kRepeatedNode),
                                BranchNode("list", 1, kRepeatedNode), LeafNode("element", 2)});
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_THAT(schema->columns[0].unreadable, HasSubstr("is a list of lists"));
}

TEST(ReadSchemaTest, BothWaysToSayThatIntegersHaveNoSignAreUnderstood) {
  const auto logical = [](int bits, bool is_signed) {
    return ThriftStruct().Struct(10, ThriftStruct().Int(1, bits).Flag(2, is_signed));
  };
  EXPECT_FALSE(OnlyColumn(LeafNode("x", 1)).is_unsigned);
  EXPECT_TRUE(OnlyColumn(LeafNode("x", 1).Int(6, 13)).is_unsigned);
  EXPECT_FALSE(OnlyColumn(LeafNode("x", 1).Int(6, 17)).is_unsigned);
  EXPECT_TRUE(OnlyColumn(LeafNode("x", 1).Struct(10, logical(32, false))).is_unsigned);
  EXPECT_FALSE(OnlyColumn(LeafNode("x", 1).Struct(10, logical(32, true))).is_unsigned);
}

TEST(ReadSchemaTest, WhatCannotBeReadSaysWhatToDo) {
  EXPECT_EQ(OnlyColumn(LeafNode("x", 1).Int(6, 5)).unreadable,
            "is a DECIMAL; store it as integers or as DOUBLE");
  EXPECT_EQ(OnlyColumn(LeafNode("x", 3)).unreadable,
            "is INT96; store the times as TIMESTAMP, which is INT64");
  EXPECT_EQ(OnlyColumn(LeafNode("x", 6).Struct(10, ThriftStruct().Struct(16, {}))).unreadable,
            "has a logical type that is not known");
}

TEST(ReadSchemaTest, NodesThatAreNoTreeAreMalformed) {
  const ThriftStruct leaf = LeafNode("x", 1);
  const std::vector<std::vector<ThriftStruct>> schemas = {
      {},
      {BranchNode("schema", 0)},
      {BranchNode("schema", 2), leaf},
      {BranchNode("schema", 1), leaf, leaf},
      {BranchNode("schema", 1), BranchNode("x", 1), BranchNode("y", 1)},
      {BranchNode("schema", -1), leaf},
      {BranchNode("schema", 1), LeafNode("x", 8)},
      {BranchNode("schema", 1), LeafNode("x", -1)},
      {BranchNode("schema", 1), LeafNode("x", 1, 3)},
      {BranchNode("schema", INT64_MAX), leaf},
      // All children together would be more than a number can say.
      {BranchNode("schema", 2), BranchNode("x", INT64_MAX), leaf},
      // A fixed length of nothing, or of more than a mebibyte.
      {BranchNode("schema", 1), LeafNode("x", 7)},
      {BranchNode("schema", 1), ThriftStruct().Int(1, 7).Int(2, (1 << 20) + 1).Text(4, "x")},
  };
  for (const std::vector<ThriftStruct>& nodes : schemas) {
    EXPECT_EQ(SchemaOf(nodes).status(), absl::DataLossError("the footer's schema is malformed"))
        << &nodes - schemas.data();
  }
  const Column fixed = OnlyColumn(ThriftStruct().Int(1, 7).Int(2, 1 << 20).Text(4, "x"));
  EXPECT_EQ(fixed.fixed_bytes, 1u << 20);
}

}  // namespace
}  // namespace capstan::parquet
