// The Parquet files of tests/golden/parquet, which pyarrow has written, and the csv of what is in
// them.
#ifndef CAPSTAN_TESTS_UNIT_DATA_PARQUET_TABLE_H_
#define CAPSTAN_TESTS_UNIT_DATA_PARQUET_TABLE_H_

#include <string>

#include "capstan/v1/job.pb.h"
#include "tests/lib/source_folder.h"

namespace capstan::parquet {

inline constexpr uint64_t kTableRows = 300;

inline std::string GoldenPath(const std::string& file) {
  return SourceFolder() + "/tests/golden/parquet/" + file;
}

// Every column of the table, each transform, as a job on table.csv or on one of the Parquet files
// names them.
inline v1::DataSpec TableSpec(const std::string& file) {
  v1::DataSpec data;
  const bool csv = file.ends_with(".csv");
  data.set_format(csv ? v1::DATA_FORMAT_CSV : v1::DATA_FORMAT_PARQUET);
  data.set_header(csv);
  data.add_train(GoldenPath(file));
  data.set_label_name("label");
  data.set_shuffle(false);
  for (const char* name : {"small", "int", "float", "double", "never", "day", "ulong"}) {
    v1::ColumnSpec& column = *data.add_numeric();
    column.set_name(name);
    column.set_missing(-7);
  }
  data.mutable_numeric(1)->set_transform(v1::NUMERIC_TRANSFORM_LOG);
  data.mutable_numeric(3)->set_transform(v1::NUMERIC_TRANSFORM_STANDARD);
  data.mutable_numeric(5)->set_transform(v1::NUMERIC_TRANSFORM_BUCKET);
  for (const float boundary : {0.0F, 5000.0F, 12000.0F}) {
    data.mutable_numeric(5)->add_boundaries(boundary);
  }
  for (const char* name : {"flag", "uint", "long", "text", "code", "always"}) {
    data.add_categorical()->set_name(name);
  }
  return data;
}

}  // namespace capstan::parquet

#endif  // CAPSTAN_TESTS_UNIT_DATA_PARQUET_TABLE_H_
