// The environment of the saves and loads of a shard.
#ifndef CAPSTAN_PS_TRANSFER_OUTSIDE_H_
#define CAPSTAN_PS_TRANSFER_OUTSIDE_H_

#include "capstan/base/background.h"
#include "capstan/objectstore/store_opener.h"
#include "ps/shard/places.h"

namespace capstan::ps {

struct Outside {
  StoreOpener open_store = OpensAnyStore();
  Background& background;          // Must outlive the jobs.
  const Places* places = nullptr;  // Must outlive the jobs. Null: any place may be used (tests).
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_OUTSIDE_H_
