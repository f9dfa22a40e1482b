// Reads a PushRequest from standard input with the hand-written reader, writes it to standard
// output with the hand-written writer. python_test.py compares the two.
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>

#include "capstan/wire/payload_writer.h"
#include "capstan/wire/reader.h"
#include "tests/unit/wire/samples.h"

namespace capstan::wire {
namespace {

void Copy(const Bytes& from, char* to) {
  if (to != nullptr) from.CopyTo(to);
}

int Echo(const std::string& input) {
  Message message(Cut(input, {11, 5000}));
  Payload payload;
  v1::PushRequest head;
  absl::Status read = Read(kPushRequest, message, head, payload);
  if (!read.ok()) {
    std::cerr << read << "\n";
    return 1;
  }
  PayloadShape shape;
  for (const PartitionPart& part : payload.partitions) {
    shape.AddPartition(part.partition);
    for (const TablePart& rows : payload.tables_of(part)) {
      shape.Add(TableShape{rows.table, rows.keys.size(), rows.values.size(), rows.pulled.size(),
                           rows.updates.size()});
    }
    for (const BlockPart& block : payload.blocks_of(part)) {
      shape.Add(BlockShape{block.block, block.values.size(), block.pulled.size()});
    }
  }
  PayloadWriter writer(kPushRequest, &head, shape);
  for (size_t i = 0; i < payload.partitions.size(); ++i) {
    writer.SetVersions(i, payload.partitions[i].dense_version,
                       payload.partitions[i].sparse_version);
  }
  for (size_t i = 0; i < payload.tables.size(); ++i) {
    Copy(payload.tables[i].keys, writer.table(i).keys);
    Copy(payload.tables[i].values, writer.table(i).values);
    Copy(payload.tables[i].pulled, writer.table(i).pulled);
    Copy(payload.tables[i].updates, writer.table(i).updates);
  }
  for (size_t i = 0; i < payload.blocks.size(); ++i) {
    Copy(payload.blocks[i].values, writer.block(i).values);
    Copy(payload.blocks[i].pulled, writer.block(i).pulled);
  }
  std::cout << TextOf(writer.Finish());
  return 0;
}

}  // namespace
}  // namespace capstan::wire

int main() {
  std::cin >> std::noskipws;
  const std::string input{std::istream_iterator<char>(std::cin), std::istream_iterator<char>()};
  return capstan::wire::Echo(input);
}
