// The walk of free_set.py over the free instances of one problem, by one block.
//
// d is Newton's direction. Where a member p meets its bound it is fixed there: with w = H e_p,
//   d <- d - w d_p / w_p,   H <- H - w w' / w_p,
// and w is had from A^-1 and the w of those fixed before. One launch takes all hits: no number goes
// to the host between two of them.

#define FULL 0xffffffffu
#define INFINITE __longlong_as_double(0x7ff0000000000000LL)

struct Nearest {
  double room;
  int at;
};

__device__ inline Nearest nearer(Nearest a, Nearest b) {
  return b.room < a.room || (b.room == a.room && b.at < a.at) ? b : a;
}

__device__ inline Nearest warp_nearest(Nearest mine) {
  for (int half = 16; half > 0; half /= 2)
    mine = nearer(mine, {__shfl_xor_sync(FULL, mine.room, half), __shfl_xor_sync(FULL, mine.at, half)});
  return mine;
}

__device__ Nearest block_nearest(Nearest mine, Nearest *room) {
  mine = warp_nearest(mine);
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    room[threadIdx.x / 32] = mine;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  return warp_nearest(lane < blockDim.x / 32 ? room[lane] : Nearest{INFINITE, 0x7fffffff});
}

/// `fixed` and `pivots` are room for max_hits rows of m and as many numbers; beta and d are moved.
extern "C" __global__ void __launch_bounds__(1024)
walk_free_set(int m, const double *inverse, const double *ones, const double *scaled, double *d,
              double *beta, const double *lower, const double *upper, double *fixed,
              double *pivots, int max_hits) {
  __shared__ Nearest room[32];
  __shared__ double share[MAX_HITS];
  __shared__ double pivot, d_at;
  __shared__ unsigned is_fixed[(MAX_MEMBERS + 31) / 32];
  for (int k = threadIdx.x; k < (m + 31) / 32; k += blockDim.x)
    is_fixed[k] = 0;
  __syncthreads();
  double left = 1;
  for (int n_hits = 0; n_hits < max_hits; ++n_hits) {
    Nearest mine = {INFINITE, 0x7fffffff};
    for (int k = threadIdx.x; k < m; k += blockDim.x) {
      const double step = d[k];
      if (step == 0 || (is_fixed[k / 32] >> (k % 32) & 1))
        continue;
      mine = nearer(mine, {((step > 0 ? upper[k] : lower[k]) - beta[k]) / step, k});
    }
    const Nearest first = block_nearest(mine, room);
    const double step = fmax(first.room, 0.0);
    const int at = first.at;
    const bool is_last = !(step < left);
    const double length = is_last ? left : step;
    if (!is_last) {
      for (int r = threadIdx.x; r < n_hits; r += blockDim.x)
        share[r] = fixed[(long long)r * m + at] / pivots[r];
      if (threadIdx.x == 0)
        d_at = d[at];
    }
    __syncthreads();
    double *w = fixed + (long long)n_hits * m;
    for (int k = threadIdx.x; k < m; k += blockDim.x) {
      const double moved = fmin(fmax(beta[k] + length * d[k], lower[k]), upper[k]);
      beta[k] = !is_last && k == at ? (d_at > 0 ? upper[k] : lower[k]) : moved;
      if (is_last)
        continue;
      double value = inverse[(long long)at * m + k] - scaled[k] * ones[at];
      for (int r = 0; r < n_hits; ++r)
        value -= share[r] * fixed[(long long)r * m + k];
      w[k] = value;
      if (k == at)
        pivot = pivots[n_hits] = value;
    }
    if (is_last)
      return;
    __syncthreads();
    if (!(pivot > 0))
      return;
    left -= step;
    if (threadIdx.x == 0)
      is_fixed[at / 32] |= 1u << (at % 32);
    __syncthreads();
    const double factor = d_at / pivot;
    for (int k = threadIdx.x; k < m; k += blockDim.x)
      d[k] = is_fixed[k / 32] >> (k % 32) & 1 ? 0 : d[k] - w[k] * factor;
    __syncthreads();
  }
}
