// The normal distribution's quantile function, computed only with additions, multiplications,
// divisions and square roots, so that the result is bit-equal on every machine, which the C
// library's log does not guarantee.
#ifndef CAPSTAN_STORE_NORMAL_H_
#define CAPSTAN_STORE_NORMAL_H_

namespace capstan {

// Returns the x below which a standard normal value lies with probability p, to about 7 digits
// (Wichura, 1988: The percentage points of the normal distribution, PPND7). A p outside of (2^-54,
// 1 - 2^-54) counts as that limit, which is 8.3 standard deviations away.
double NormalQuantile(double p);

}  // namespace capstan

#endif  // CAPSTAN_STORE_NORMAL_H_
