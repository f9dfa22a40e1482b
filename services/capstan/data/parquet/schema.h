// The schema of a Parquet file: a tree, stored as a list of its nodes in pre-order.
#ifndef CAPSTAN_DATA_PARQUET_SCHEMA_H_
#define CAPSTAN_DATA_PARQUET_SCHEMA_H_

#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/parquet/metadata.h"
#include "capstan/data/parquet/thrift_reader.h"

namespace capstan::parquet {

struct Schema {
  std::vector<Column> columns;
  std::vector<Physical> leaves;  // The type of each leaf of the tree.
};

// Reads the schema from `field`, the list of its nodes. DATA_LOSS: the list is malformed.
absl::StatusOr<Schema> ReadSchema(ThriftReader& in, const ThriftField& field);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_SCHEMA_H_
