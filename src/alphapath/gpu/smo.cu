// SMO for many problems on one kernel matrix at a time, in two levels.
//
// Every round, each problem of the batch
//   select_working_set   takes its worst violators besides the free ones of the last set, Q at most,
//   solve_working_set    solves them exactly enough by SMO inside one block, on their Q x Q block,
//   update_gradients     adds the kernel rows of those that moved, all blocks of all problems at once.
//
// The kernel matrix is read only by the last step, whole rows at a time. Values of a problem (beta,
// gradient, bounds) are those of its members alone, side by side: `members` has their columns.
// Nothing depends on the order in which blocks run.

struct Batch {
  const int *active;     // problems of this launch
  const int *columns;    // column of each member, one list a weighting
  const int *n_members;  // of each weighting
  const int *weighting;  // of each problem
  double *beta, *gradient;
  const double *lower, *upper;
  long long width;       // members from one problem to the next
  double epsilon;
};

struct Work {
  int *members;          // positions of the working set among the members, Q a problem, newest first
  int *size;
  double *violation;     // before the round
  int *row_of;           // where the rows of the working set are, Q a problem
  double *change;        // of beta, Q a problem: those that moved first
  int *moved;            // their rows
  int *n_moved;
  long long *n_iter;
  unsigned char *is_kept; // room for a flag a member; 0 between launches
};

#define FULL 0xffffffffu
#define N_BINS 1024
#define INFINITE __longlong_as_double(0x7ff0000000000000LL)

__device__ inline double rising(double g, double beta, double epsilon) {
  return g + (beta >= 0 ? epsilon : -epsilon);
}

__device__ inline double falling(double g, double beta, double epsilon) {
  return g + (beta > 0 ? epsilon : -epsilon);
}

__device__ double block_min(double value, double *room) {
  for (int half = 16; half > 0; half /= 2)
    value = fmin(value, __shfl_xor_sync(FULL, value, half));
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    room[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? room[threadIdx.x % 32] : INFINITE;
  for (int half = 16; half > 0; half /= 2)
    value = fmin(value, __shfl_xor_sync(FULL, value, half));
  return value;
}

/// Place of this thread among those with `flag`, in order; adds their number to *count.
__device__ int ordered_place(bool flag, int *count, int *room) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n_warps = blockDim.x / 32;
  const unsigned votes = __ballot_sync(FULL, flag);
  __syncthreads();
  if (lane == 0)
    room[warp] = __popc(votes);
  __syncthreads();
  int before = *count, all = *count;
  for (int w = 0; w < n_warps; ++w) {
    before += w < warp ? room[w] : 0;
    all += room[w];
  }
  *count = all;
  return before + __popc(votes & ((1u << lane) - 1));
}

/// The first bin at which at least `wanted` are reached, and how many are taken from it.
__device__ void find_threshold(const int *bins, int wanted, int *bin, int *from_it) {
  int sum = 0, b = 0;
  for (; b < N_BINS - 1 && sum + bins[b] < wanted; ++b)
    sum += bins[b];
  *bin = b;
  *from_it = wanted - sum;
}

extern "C" __global__ void __launch_bounds__(1024)
select_working_set(const Batch *given_batch, const Work *given_work, double tol) {
  const Batch batch = *given_batch;
  const Work work = *given_work;
  const int p = batch.active[blockIdx.x];
  const int n = batch.n_members[batch.weighting[p]];
  const double *beta = batch.beta + p * batch.width, *g = batch.gradient + p * batch.width;
  const double *lower = batch.lower + p * batch.width, *upper = batch.upper + p * batch.width;
  __shared__ double room[32];
  __shared__ int counts[32];
  __shared__ int up_bins[N_BINS], down_bins[N_BINS];
  __shared__ int total_up, total_down, bin_up, from_up, bin_down, from_down;

  double least_up = INFINITE, least_down = INFINITE; // of the slope, and of minus the slope
  for (int k = threadIdx.x; k < n; k += blockDim.x) {
    if (beta[k] < upper[k])
      least_up = fmin(least_up, rising(g[k], beta[k], batch.epsilon));
    if (beta[k] > lower[k])
      least_down = fmin(least_down, -falling(g[k], beta[k], batch.epsilon));
  }
  least_up = block_min(least_up, room);
  least_down = block_min(least_down, room);
  const double violation = -least_down - least_up;
  if (threadIdx.x == 0)
    work.violation[p] = violation;
  if (!(violation > tol)) {
    if (threadIdx.x == 0)
      work.size[p] = 0;
    return;
  }
  // The newest free ones of the last working set stay: they answer to what the others do.
  __shared__ int kept[Q / 2];
  int *members = work.members + (long long)p * Q, *rows = work.row_of + (long long)p * Q;
  const int *list = batch.columns + (long long)batch.weighting[p] * batch.width;
  unsigned char *is_kept = work.is_kept + p * batch.width;
  const int n_last = work.size[p];
  int n_kept = 0;
  for (int first = 0; first < n_last; first += blockDim.x) {
    const int at = first + threadIdx.x;
    const int k = at < n_last ? members[at] : 0;
    const bool is_free = at < n_last && beta[k] > lower[k] && beta[k] < upper[k];
    const int place = ordered_place(is_free, &n_kept, counts);
    if (is_free && place < Q / 2) {
      kept[place] = k;
      is_kept[k] = 1;
    }
  }
  n_kept = min(n_kept, Q / 2);
  for (int b = threadIdx.x; b < N_BINS; b += blockDim.x)
    up_bins[b] = down_bins[b] = 0;
  if (threadIdx.x == 0)
    total_up = total_down = 0;
  __syncthreads();
  const double scale = N_BINS / violation;
  const auto bin_of = [scale](double distance) { return min((int)(distance * scale), N_BINS - 1); };
  for (int k = threadIdx.x; k < n; k += blockDim.x) {
    if (is_kept[k])
      continue;
    const double above = rising(g[k], beta[k], batch.epsilon) - least_up;
    const double below = -falling(g[k], beta[k], batch.epsilon) - least_down;
    if (beta[k] < upper[k] && above < violation) {
      atomicAdd(&up_bins[bin_of(above)], 1);
      atomicAdd(&total_up, 1);
    }
    if (beta[k] > lower[k] && below < violation) {
      atomicAdd(&down_bins[bin_of(below)], 1);
      atomicAdd(&total_down, 1);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const int n_new = Q - n_kept;
    int want_up = min(n_new / 2, total_up);
    const int want_down = min(n_new - want_up, total_down);
    want_up = min(n_new - want_down, total_up);
    find_threshold(up_bins, want_up, &bin_up, &from_up);
    find_threshold(down_bins, want_down, &bin_down, &from_down);
  }
  __syncthreads();
  int n_taken = 0, n_up_edge = 0, n_down_edge = 0;
  for (int first = 0; first < n; first += blockDim.x) {
    const int k = first + threadIdx.x;
    int up = -1, down = -1; // bins
    if (k < n && !is_kept[k]) {
      const double above = rising(g[k], beta[k], batch.epsilon) - least_up;
      const double below = -falling(g[k], beta[k], batch.epsilon) - least_down;
      if (beta[k] < upper[k] && above < violation)
        up = bin_of(above);
      if (beta[k] > lower[k] && below < violation)
        down = bin_of(below);
    }
    const int up_place = ordered_place(up == bin_up, &n_up_edge, counts);
    const int down_place = ordered_place(down == bin_down, &n_down_edge, counts);
    const bool is_taken = (up >= 0 && up < bin_up) || (up == bin_up && up_place < from_up) ||
                          (down >= 0 && down < bin_down) ||
                          (down == bin_down && down_place < from_down);
    const int place = ordered_place(is_taken, &n_taken, counts);
    if (is_taken) {
      members[place] = k;
      rows[place] = list[k];
    }
  }
  for (int c = threadIdx.x; c < n_kept; c += blockDim.x) {
    members[n_taken + c] = kept[c];
    rows[n_taken + c] = list[kept[c]];
    is_kept[kept[c]] = 0;
  }
  if (threadIdx.x == 0)
    work.size[p] = n_taken + n_kept;
}

/// Floats as integers of the same order.
__device__ inline unsigned ordered(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ inline float from_ordered(unsigned bits) {
  return __uint_as_float(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
}

struct Winner {
  unsigned key;
  int thread;
};

/// The largest key of the block and its first thread. `room` must not be the last call's.
__device__ inline Winner block_max(unsigned key, Winner *room) {
  const int lane = threadIdx.x % 32;
  const unsigned best = __reduce_max_sync(FULL, key);
  const unsigned who = __ballot_sync(FULL, key == best);
  if (lane == 0)
    room[threadIdx.x / 32] = {best, (int)(threadIdx.x - lane) + __ffs(who) - 1};
  __syncthreads();
  const Winner mine = lane < blockDim.x / 32 ? room[lane] : Winner{0, 0};
  const unsigned all = __reduce_max_sync(FULL, mine.key);
  const unsigned from = __ballot_sync(FULL, mine.key == all);
  return {all, __shfl_sync(FULL, mine.thread, __ffs(from) - 1)};
}

extern "C" __global__ void __launch_bounds__(Q)
solve_working_set(const Batch *given_batch, const Work *given_work, const float *kernel,
                  long long stride, float *blocks, const float *diagonal, double tol,
                  int max_iter) {
  const Batch batch = *given_batch;
  const Work work = *given_work;
  const int p = batch.active[blockIdx.x];
  const int n = work.size[p], t = threadIdx.x;
  if (n == 0) {
    if (t == 0)
      work.n_moved[p] = 0;
    return;
  }
#if SHARED_BLOCK
  extern __shared__ float block[];
#else
  float *block = blocks + (long long)blockIdx.x * Q * Q;
#endif
  __shared__ Winner room[4][32];
  __shared__ double s_beta[Q];
  __shared__ float s_g[Q];
  __shared__ int counts[32];
  const long long at = p * batch.width;
  const int *list = batch.columns + (long long)batch.weighting[p] * batch.width;
  const int *rows = work.row_of + (long long)p * Q;
  const bool is_in = t < n;
  const int k = is_in ? work.members[(long long)p * Q + t] : 0;
  const int column = is_in ? list[k] : 0;
  for (int a = 0; a < n; ++a)
    if (is_in)
      block[a * Q + t] = kernel[rows[a] * stride + column];
  const double start = is_in ? batch.beta[at + k] : 0;
  const double low = is_in ? batch.lower[at + k] : 0, high = is_in ? batch.upper[at + k] : 0;
  const float d = is_in ? diagonal[column] : 0;
  const float epsilon = (float)batch.epsilon;
  double beta = start;
  // Slopes relative to the first member's: what float resolves best.
  const double base = batch.gradient[at + work.members[(long long)p * Q]];
  float g = is_in ? (float)(batch.gradient[at + k] - base) : 0;
  __shared__ float s_d[Q];
  __shared__ double s_low[Q], s_high[Q];
  s_beta[t] = beta;
  s_g[t] = g;
  s_d[t] = d;
  s_low[t] = low;
  s_high[t] = high;
  const double goal = fmax(GOAL * work.violation[p], 0.5 * tol);
  int iter = 0;
  __syncthreads();
  for (; iter < max_iter; ++iter) {
    const float rise = g + (beta >= 0 ? epsilon : -epsilon);
    const float fall = g + (beta > 0 ? epsilon : -epsilon);
    const Winner up = block_max(is_in && beta < high ? ordered(-rise) : 0, room[0]);
    const Winner down = block_max(is_in && beta > low ? ordered(fall) : 0, room[1]);
    if (up.key == 0 || down.key == 0)
      break;
    const float least = -from_ordered(up.key);
    if (!(from_ordered(down.key) - least > goal))
      break;
    const int i = up.thread;
    const float kernel_i = is_in ? block[i * Q + t] : 0;
    const float excess = fall - least;
    const float q = fmaxf(s_d[i] + d - 2 * kernel_i, 1e-12f);
    const bool may_pair = is_in && beta > low && excess > 0;
    const Winner best = block_max(may_pair ? ordered(excess * excess / q) : 0, room[2 + iter % 2]);
    const int j = best.thread;
    if (best.key == 0)
      break;
    const double beta_i = s_beta[i], beta_j = s_beta[j];
    const float fall_j = s_g[j] + (beta_j > 0 ? epsilon : -epsilon);
    const float curvature = fmaxf(s_d[i] + s_d[j] - 2 * block[i * Q + j], 1e-12f);
    const double ceiling = epsilon > 0 && beta_i < 0 ? fmin(s_high[i], 0.0) : s_high[i];
    const double floor = epsilon > 0 && beta_j > 0 ? fmax(s_low[j], 0.0) : s_low[j];
    const double room_i = ceiling - beta_i, room_j = beta_j - floor;
    const double step = fmin((double)((fall_j - least) / curvature), fmin(room_i, room_j));
    __syncthreads(); // everybody has read the pair
    if (t == i)
      s_beta[t] = beta = step == room_i ? ceiling : beta + step;
    if (t == j)
      s_beta[t] = beta = step == room_j ? floor : beta - step;
    if (is_in)
      s_g[t] = g += (float)step * (kernel_i - block[j * Q + t]);
  }
  __syncthreads();
  const double change = beta - start;
  int n_moved = 0;
  const int place = ordered_place(is_in && change != 0, &n_moved, counts);
  if (is_in && change != 0) {
    batch.beta[at + k] = beta;
    work.change[(long long)p * Q + place] = change;
    work.moved[(long long)p * Q + place] = rows[t];
  }
  if (t == 0) {
    work.n_moved[p] = n_moved;
    work.n_iter[p] += iter;
  }
}

#define COLUMNS 4

extern "C" __global__ void __launch_bounds__(256)
update_gradients(const Batch *given_batch, const Work *given_work, const float *kernel,
                 long long stride) {
  const Batch batch = *given_batch;
  const Work work = *given_work;
  const int p = batch.active[blockIdx.x];
  const int n_moved = work.n_moved[p];
  const int n = batch.n_members[batch.weighting[p]];
  const int first = blockIdx.y * 256 * COLUMNS;
  if (n_moved == 0 || first >= n)
    return;
  __shared__ double s_change[Q];
  __shared__ long long s_row[Q];
  for (int r = threadIdx.x; r < n_moved; r += 256) {
    s_change[r] = work.change[(long long)p * Q + r];
    s_row[r] = work.moved[(long long)p * Q + r] * stride;
  }
  __syncthreads();
  const int *list = batch.columns + (long long)batch.weighting[p] * batch.width;
  int column[COLUMNS];
  double sum[COLUMNS];
  for (int c = 0; c < COLUMNS; ++c) {
    const int k = first + c * 256 + threadIdx.x;
    column[c] = k < n ? list[k] : 0;
    sum[c] = 0;
  }
#pragma unroll 4
  for (int r = 0; r < n_moved; ++r) {
    const float *row = kernel + s_row[r];
    const double change = s_change[r];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
      sum[c] += change * (double)row[column[c]];
  }
  for (int c = 0; c < COLUMNS; ++c) {
    const int k = first + c * 256 + threadIdx.x;
    if (k < n)
      batch.gradient[p * batch.width + k] += sum[c];
  }
}
