// What a process asks of its object stores, as metrics.
#ifndef CAPSTAN_OBJECTSTORE_MEASURED_OBJECT_STORE_H_
#define CAPSTAN_OBJECTSTORE_MEASURED_OBJECT_STORE_H_

#include <memory>

#include "capstan/metrics/registry.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

// The same store. Each call is counted by what it asks (capstan_object_store_requests_total, with
// its status) and timed (capstan_object_store_request_duration_seconds); retries of a client are
// within its call. A streamed write counts once, from Create to its Commit or first error.
// `registry` must outlive the store and its writers.
std::unique_ptr<ObjectStore> MeasureObjectStore(std::unique_ptr<ObjectStore> store,
                                                metrics::Registry& registry);

// From now on all stores that OpenObjectStore opens in this process are measured. `registry` must
// outlive them. For `main`, before the first is opened.
void MeasureObjectStores(metrics::Registry& registry);

// As MeasureObjectStores has said; otherwise the store itself.
std::unique_ptr<ObjectStore> MeasureIfAsked(std::unique_ptr<ObjectStore> store);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_MEASURED_OBJECT_STORE_H_
