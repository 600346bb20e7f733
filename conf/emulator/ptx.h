#pragma once
/* What kernels that ptx2c.py has translated use. Threads of a block take turns; what they do together is in cudart.c. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Threads of a warp that exchange values: those of mask, until all of them have read what they wanted. */
typedef struct {
  uint32_t mask; /* 0: free */
  uint32_t arrived, left;
  uint64_t values[32]; /* by lane */
} Exchange;

#define MAX_EXCHANGES 16

typedef struct {
  uint32_t gone; /* lanes that have returned, or never were */
  Exchange exchanges[MAX_EXCHANGES];
} Warp;

/* A thread, as its kernel sees it. */
typedef struct {
  char    *shared;  /* memory of the block; borrowed */
  uint32_t dynamic; /* offset of what the launch has asked for there */
  void   **params;  /* of the kernel; borrowed */
  uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
  int      lane, number; /* in the warp, in the block */
  Warp    *warp;
} Thread;

/* What a launch needs to know of a kernel. */
typedef struct {
  int      together; /* whether its threads ever wait for others; otherwise they run one after the other */
  int      num_params;
  unsigned shared_size; /* bytes */
  unsigned param_sizes[64];
} KernelFacts;

enum {
  SHUFFLE_UP,
  SHUFFLE_DOWN,
  SHUFFLE_BFLY,
  SHUFFLE_IDX
};

enum {
  REDUCE_ADD,
  REDUCE_MIN,
  REDUCE_MAX,
  REDUCE_AND,
  REDUCE_OR,
  REDUCE_XOR,
  REDUCE_POPC
};

void      ThreadYield(Thread *);
void      BlockSync(Thread *, uint32_t, uint32_t);
int       BlockReduce(Thread *, int, int);
Exchange *WarpExchange(Thread *, uint32_t, uint64_t); /* when all of the mask have come; WarpLeave() when its values were read */

static inline void WarpLeave(Exchange *e)
{
  if (++e->left == (uint32_t)__builtin_popcount(e->arrived)) e->mask = 0;
}

static inline void WarpSync(Thread *t, uint32_t mask)
{
  WarpLeave(WarpExchange(t, mask, 0));
}

static inline uint32_t Shuffle(Thread *t, uint32_t mask, uint32_t value, uint32_t b, uint32_t c, int mode, int *valid)
{
  Exchange *e       = WarpExchange(t, mask, value);
  const int segment = (c >> 8) & 31, offset = b & 31, first = t->lane & segment, last = first | (c & 31 & ~segment);
  int       from    = mode == SHUFFLE_UP ? t->lane - offset : mode == SHUFFLE_DOWN ? t->lane + offset : mode == SHUFFLE_BFLY ? t->lane ^ offset : first | (offset & ~segment);

  *valid = mode == SHUFFLE_UP ? from >= last : from <= last;
  value  = (uint32_t)e->values[*valid ? from & 31 : t->lane];
  WarpLeave(e);
  return value;
}

/* Lanes whose value is the one asked for. */
static inline uint32_t LanesWith(const Exchange *e, uint64_t value)
{
  uint32_t lanes = 0;

  for (int k = 0; k < 32; k++)
    if (e->arrived >> k & 1 && e->values[k] == value) lanes |= 1u << k;
  return lanes;
}

static inline uint32_t Match(Thread *t, uint32_t mask, uint64_t value)
{
  Exchange      *e     = WarpExchange(t, mask, value);
  const uint32_t lanes = LanesWith(e, value);

  WarpLeave(e);
  return lanes;
}

static inline uint32_t Vote(Thread *t, uint32_t mask, int predicate)
{
  Exchange      *e     = WarpExchange(t, mask, predicate != 0);
  const uint32_t lanes = LanesWith(e, 1);

  WarpLeave(e);
  return lanes;
}

/* A barrier in shared memory (mbarrier), 8 bytes: a phase ends when all have arrived and all bytes have come. */
typedef struct {
  int32_t  bytes; /* that are still to come */
  uint16_t count; /* of who arrives in a phase */
  uint16_t state; /* twice the number of those that have not arrived, and the parity of the phase */
} Barrier;

static inline void BarrierInit(void *p, uint32_t count)
{
  *(Barrier *)p = (Barrier){0, (uint16_t)count, (uint16_t)(2 * count)};
}

static inline void BarrierComplete(void *p, int32_t bytes)
{
  Barrier *b = (Barrier *)p;

  b->bytes -= bytes;
  if (b->bytes == 0 && b->state < 2) b->state = (uint16_t)(2 * b->count + !b->state);
}

static inline void BarrierArrive(void *p, int32_t bytes)
{
  ((Barrier *)p)->state -= 2;
  BarrierComplete(p, -bytes);
}

static inline int BarrierPassed(Thread *t, void *p, uint32_t parity)
{
  if ((((Barrier *)p)->state & 1) == parity) ThreadYield(t);
  return (((Barrier *)p)->state & 1) != parity;
}

#define DEFINE_REDUCE(name, T) \
  static inline T Reduce_##name(Thread *t, uint32_t mask, T value, int kind) \
  { \
    Exchange *e      = WarpExchange(t, mask, (uint64_t)(uint32_t)value); \
    T         result = 0; \
    int       first  = 1; \
\
    for (int k = 0; k < 32; k++) { \
      const T x = (T)(uint32_t)e->values[k]; \
\
      if (!(e->arrived >> k & 1)) continue; \
      if (first) result = x; \
      else if (kind == REDUCE_ADD) result += x; \
      else if (kind == REDUCE_MIN) result = x < result ? x : result; \
      else if (kind == REDUCE_MAX) result = x > result ? x : result; \
      else if (kind == REDUCE_AND) result &= x; \
      else if (kind == REDUCE_OR) result |= x; \
      else result ^= x; \
      first = 0; \
    } \
    WarpLeave(e); \
    return result; \
  }
DEFINE_REDUCE(u32, uint32_t)
DEFINE_REDUCE(s32, int32_t)

/* The same bits as another type. */
#define DEFINE_BITS(name, To, From) \
  static inline To name(From from) \
  { \
    To to; \
\
    memcpy(&to, &from, sizeof(to)); \
    return to; \
  }
DEFINE_BITS(AsDouble, double, uint64_t)
DEFINE_BITS(AsFloat, float, uint32_t)
DEFINE_BITS(BitsOfDouble, uint64_t, double)
DEFINE_BITS(BitsOfFloat, uint32_t, float)
DEFINE_BITS(FloatOfHalf, _Float16, uint16_t)
DEFINE_BITS(BitsOfSmall, uint16_t, _Float16)
#define BitsOfHalf(x) BitsOfSmall((_Float16)(x))

/* By zero, and where the host would stop: what GPUs give. */
#define DEFINE_DIVIDE(name, T, overflow) \
  static inline T Divide_##name(T a, T b) \
  { \
    return b == 0 ? (T)-1 : (overflow) ? a : a / b; \
  } \
  static inline T Remainder_##name(T a, T b) \
  { \
    return b == 0 ? a : (overflow) ? 0 : a % b; \
  }
DEFINE_DIVIDE(u16, uint16_t, 0)
DEFINE_DIVIDE(s16, int16_t, 0)
DEFINE_DIVIDE(u32, uint32_t, 0)
DEFINE_DIVIDE(u64, uint64_t, 0)
DEFINE_DIVIDE(s32, int32_t, a == INT32_MIN && b == -1)
DEFINE_DIVIDE(s64, int64_t, a == INT64_MIN && b == -1)

/* Numbers that are too large become the largest, no numbers 0. */
#define DEFINE_SATURATE(name, T, least, most) \
  static inline T Saturate_##name(double x) \
  { \
    return isnan(x) ? 0 : x >= (double)(most) ? (most) : x <= (double)(least) ? (least) : (T)x; \
  }
DEFINE_SATURATE(u16, uint16_t, 0, UINT16_MAX)
DEFINE_SATURATE(s16, int16_t, INT16_MIN, INT16_MAX)
DEFINE_SATURATE(u32, uint32_t, 0, UINT32_MAX)
DEFINE_SATURATE(s32, int32_t, INT32_MIN, INT32_MAX)
DEFINE_SATURATE(u64, uint64_t, 0, UINT64_MAX)
DEFINE_SATURATE(s64, int64_t, INT64_MIN, INT64_MAX)

static inline uint32_t LeadingZeros32(uint32_t x)
{
  return x ? (uint32_t)__builtin_clz(x) : 32;
}

static inline uint32_t LeadingZeros64(uint64_t x)
{
  return x ? (uint32_t)__builtin_clzll(x) : 64;
}

static inline uint64_t Reverse64(uint64_t x)
{
  uint64_t reversed = 0;

  for (int k = 0; k < 64; k++) reversed |= (x >> k & 1) << (63 - k);
  return reversed;
}

static inline uint32_t Reverse32(uint32_t x)
{
  return (uint32_t)(Reverse64(x) >> 32);
}

/* The highest bit that is set, or how far it has to be shifted. */
static inline uint32_t FindBit_u64(uint64_t x, int shift)
{
  return x == 0 ? UINT32_MAX : shift ? LeadingZeros64(x) : 63 - LeadingZeros64(x);
}

static inline uint32_t FindBit_u32(uint32_t x, int shift)
{
  return x == 0 ? UINT32_MAX : shift ? LeadingZeros32(x) : 31 - LeadingZeros32(x);
}

static inline uint32_t FindBit_s32(int32_t x, int shift)
{
  return FindBit_u32((uint32_t)(x < 0 ? ~x : x), shift);
}

/* length bits from one on, which the last one's sign fills up. */
#define DEFINE_EXTRACT(name, T, U, width) \
  static inline T Extract_##name(T x, uint32_t from, uint32_t length) \
  { \
    from &= 255; \
    length &= 255; \
    if (length == 0) return 0; \
    if (from >= (width)) return x < 0 ? -1 : 0; \
    if (from + length > (width)) length = (width) - from; \
    return (T)((U)x << ((width)-from - length)) >> ((width)-length); \
  }
DEFINE_EXTRACT(u32, uint32_t, uint32_t, 32)
DEFINE_EXTRACT(s32, int32_t, uint32_t, 32)
DEFINE_EXTRACT(u64, uint64_t, uint64_t, 64)
DEFINE_EXTRACT(s64, int64_t, uint64_t, 64)

static inline uint64_t Insert64(uint64_t x, uint64_t into, uint32_t from, uint32_t length)
{
  uint64_t mask;

  from &= 255;
  length &= 255;
  if (length == 0 || from >= 64) return into;
  mask = (length >= 64 ? ~0ull : (1ull << length) - 1) << from;
  return (into & ~mask) | (x << from & mask);
}

static inline uint32_t Insert32(uint32_t x, uint32_t into, uint32_t from, uint32_t length)
{
  return (uint32_t)Insert64(x, into, from, length);
}

/* So many bits from one on. */
static inline uint32_t BitMask(uint32_t from, uint32_t length, int wrap)
{
  if (wrap) from &= 31, length &= 31;
  return from >= 32 || length == 0 ? 0 : (length >= 32 ? ~0u : (1u << length) - 1) << from;
}

/* Bytes of two words, four of which are chosen. */
static inline uint32_t Permute(uint32_t a, uint32_t b, uint32_t choice)
{
  const uint64_t both   = (uint64_t)b << 32 | a;
  uint32_t       result = 0;

  for (int k = 0; k < 4; k++) {
    const uint32_t which = choice >> (4 * k) & 15;
    uint32_t       byte  = both >> (8 * (which & 7)) & 255;

    if (which & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * k);
  }
  return result;
}
