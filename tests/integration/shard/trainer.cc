#include "tests/integration/shard/trainer.h"

#include <array>

#include "capstan/base/check.h"
#include "capstan/consistency/staleness.h"

namespace capstan {

std::vector<uint64_t> Keys(uint64_t first, uint64_t count) {
  std::vector<uint64_t> keys;
  for (uint64_t key = first; key < first + count; ++key) keys.push_back(key);
  return keys;
}

Trainer::Trainer(LocalShards& shards, PsClientOptions options)
    : map(*ParameterMap::Create(shards.job())),
      client(loop, map, options),
      plan(map),
      rows_judged(CountsRowUpdates(shards.job().sparse_update())) {
  CAPSTAN_CHECK(client.SetView(shards.view()));
  versions.resize(map.partition_count());
}

void Trainer::SetView(const v1::View& view) {
  if (client.SetView(view)) plan.Route(client.owners());
}

void Trainer::Plan(const std::vector<uint64_t>& use) {
  keys = use;
  row_versions.clear();  // Not known before these rows have been pulled.
  const std::array<TableKeys, 1> tables = {TableKeys{0, keys}};
  plan.Build(map.tables().empty() ? absl::Span<const TableKeys>() : tables,
             map.layout().flat_size() > 0);
  plan.Route(client.owners());
  if (!map.tables().empty()) rows.assign(keys.size() * map.tables()[0].dim, -1);
  dense.assign(map.layout().flat_size(), -1);
}

PullResult Trainer::Pull(const PullOptions& options) {
  const std::array<float*, 1> matrices = {rows.data()};
  row_versions.resize(rows_judged ? keys.size() : 0);
  const std::array<uint32_t*, 1> of_rows = {row_versions.data()};
  return client.PullAll(plan, options,
                        {.rows = matrices,
                         .dense = dense.data(),
                         .versions = &versions,
                         .row_versions = absl::MakeConstSpan(of_rows.data(), rows_judged ? 1 : 0)});
}

PushResult Trainer::Push(uint64_t seq, float gradient) {
  return Push({.stream = StreamPush{StreamId::Session(1), seq, {1, 1}, 0}}, gradient);
}

PushResult Trainer::Push(const PushOptions& options, float gradient) {
  const std::vector<float> g(rows.size(), gradient), d(dense.size(), gradient);
  const std::array<const float*, 1> matrices = {g.data()}, pulled = {rows.data()};
  PushSource source = {.rows = matrices, .dense = d.data(), .versions = &versions};
  const std::array<const uint32_t*, 1> of_rows = {row_versions.data()};
  if (!row_versions.empty()) source.row_versions = of_rows;
  if (send_pulled) {
    source.pulled_rows = pulled;
    source.pulled_dense = dense.data();
  }
  return client.PushAll(plan, options, source);
}

}  // namespace capstan
