// Makes the views: a new epoch whenever anything in them has changed.
#ifndef CAPSTAN_CHIEF_VIEW_BUILDER_H_
#define CAPSTAN_CHIEF_VIEW_BUILDER_H_

#include <cstdint>
#include <vector>

#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/membership.h"
#include "chief/shard_table.h"

namespace capstan::chief {

// Thread-compatible.
class ViewBuilder {
 public:
  ViewBuilder(uint64_t term, const v1::JobSpec& spec);

  // Makes the partition map; it stays for the job.
  void MakeMap(uint32_t partitions, uint32_t shards);

  // Builds the view anew. True, and a new epoch, if it differs from the current one.
  bool Update(v1::JobState state, const ShardTable& shards, const Membership& workers);

  const v1::View& current() const { return view_; }
  uint32_t keeper() const { return view_.owners(0); }  // REQUIRES: the map is made.

 private:
  v1::View view_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_VIEW_BUILDER_H_
