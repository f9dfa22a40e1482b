// What saves and loads of a shard use outside of the shard.
#ifndef CAPSTAN_PS_TRANSFER_OUTSIDE_H_
#define CAPSTAN_PS_TRANSFER_OUTSIDE_H_

#include "capstan/base/background.h"
#include "capstan/objectstore/store_opener.h"
#include "ps/shard/places.h"

namespace capstan::ps {

struct Outside {
  StoreOpener open_store = OpensAnyStore();
  Background& background;          // Outlives the jobs.
  const Places* places = nullptr;  // Outlives the jobs. Null: any place may be used (tests).
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_OUTSIDE_H_
