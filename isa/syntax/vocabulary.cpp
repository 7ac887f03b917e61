// Words of PTX ISA 9.0 as a whole, so that "PTX, but not executed here" can be told from "not PTX".
#include <algorithm>
#include <array>

#include "isa/syntax/matcher.h"

namespace tcsim::isa::syntax {
namespace {

constexpr std::string_view kBases[] = {
    "abs", "activemask", "add", "addc", "alloca", "and", "applypriority", "atom", "bar", "barrier", "bfe", "bfi", "bfind",
    "bmsk", "bra", "brev", "brkpt", "brx", "call", "clusterlaunchcontrol", "clz", "cnot", "copysign", "cos", "cp",
    "createpolicy", "cvt", "cvta", "discard", "div", "dp2a", "dp4a", "elect", "ex2", "exit", "fence", "fma", "fns",
    "getctarank", "griddepcontrol", "isspacep", "istypep", "ld", "ldmatrix", "ldu", "lg2", "lop3", "mad", "mad24", "madc",
    "mapa", "match", "max", "mbarrier", "membar", "min", "mma", "mov", "movmatrix", "mul", "mul24", "multimem",
    "nanosleep", "neg", "not", "or", "pmevent", "popc", "prefetch", "prefetchu", "prmt", "rcp", "red", "redux", "rem",
    "ret", "rsqrt", "sad", "selp", "set", "setmaxnreg", "setp", "shf", "shfl", "shl", "shr", "sin", "slct", "sqrt",
    "st", "stackrestore", "stacksave", "stmatrix", "sub", "subc", "suld", "suq", "sured", "sust", "szext", "tanh",
    "tcgen05", "tensormap", "testp", "tex", "tld4", "trap", "txq", "vabsdiff", "vabsdiff2", "vabsdiff4", "vadd", "vadd2",
    "vadd4", "vavrg2", "vavrg4", "vmad", "vmax", "vmax2", "vmax4", "vmin", "vmin2", "vmin4", "vote", "vset", "vset2",
    "vset4", "vshl", "vshr", "vsub", "vsub2", "vsub4", "wgmma", "wmma", "xor",
};

// Fixed words that the prefixes and patterns below do not cover.
constexpr std::string_view kModifiers[] = {
    "1d", "2d", "3d", "4d", "5d", "a", "a1d", "a2d", "acq_rel", "acquire", "add", "alias", "aligned", "all", "alloc",
    "and", "any", "approx", "arrive", "array_size", "arrive_drop", "async", "async_release", "b", "ballot", "base",
    "bf16", "bf16x2", "bfly", "block16", "block32", "block_scale", "bulk", "bulk_group", "c", "ca", "cas", "cc", "cg",
    "clamp", "cluster", "col", "collector_usage", "commit", "commit_group", "complete_tx", "const", "cp", "cp_fenceproxy",
    "cp_mask", "cs", "cta", "cube", "cv", "d", "dealloc", "dec", "depth", "down", "e2m1", "e2m1x2", "e2m1x4", "e2m3",
    "e2m3x2", "e2m3x4", "e3m2", "e3m2x2", "e3m2x4", "e4m3", "e4m3x2", "e4m3x4", "e5m2", "e5m2x2", "e5m2x4", "eq", "equ",
    "exch", "expect_tx", "f4x", "fence", "finite", "full", "ftz", "ge", "get_first_ctaid", "geu", "gl", "global",
    "global_address", "global_dim", "global_stride", "gpu", "gt", "gtu", "h0", "h1", "hi", "hs", "im2col", "inc",
    "infinite", "init", "interleave_layout", "inval", "is_canceled", "l", "ld", "ld_reduce", "launch_dependents", "le",
    "leu", "lg2", "lo", "local", "ls", "lt", "ltu", "lu", "max", "mbarrier_init", "min", "mma", "mma_async", "mmio",
    "nan", "NaN", "nc", "ne", "neu", "noComplete", "noinc", "normal", "notanumber", "num", "number", "op_restrict", "or",
    "param", "parity", "pending_count", "popc", "pred", "prefetch", "proxy", "query_cancel", "r", "rank", "read", "red",
    "red_async", "reduce", "relaxed", "release", "relinquish_alloc_permit", "relu", "replace", "rm", "rn", "rna", "rni",
    "row", "rp", "rpi", "rmi", "rs", "rz", "rzi", "sat", "satfinite", "sc", "scatter", "shared", "shift", "shiftamt",
    "shuffle", "sp", "st", "st_async", "store", "subnormal", "surfref", "swizzle_atomicity", "swizzle_mode", "sync", "sys",
    "tensor", "tensormap", "test_wait", "tex", "texref", "tf32", "thread", "tile", "to", "trans", "transpose", "try_cancel",
    "try_wait", "uni", "unified", "up", "vec", "volatile", "wait", "wait_all", "wait_group", "warp", "warpx2", "warpx4",
    "wb", "weak", "width", "wrap", "wt", "xor", "xorsign", "ws", "abs", "ashift", "box_dim", "cluster_dim", "elemtype",
    "element_stride", "fill_mode", "height", "mul", "mxf4", "mxf4nvf4", "mxf8f6f4", "idx", "explicitcluster", "s", "v",
    "ue4m3", "ue8m0", "ue8m0x2", "scale_vec", "dst", "src", "channel_data_type", "channel_order", "addr_mode_0",
};

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// m16n8k16, m64n256k16, 8x8, 32x32b, x4, v2: shapes and counts.
bool is_shape(std::string_view word) {
  if (word.empty() || word[0] == 'b' || word[0] == 'p' || word[0] == '_') return false;
  bool digit = false;
  for (const char c : word) {
    if (c >= '0' && c <= '9') digit = true;
    else if (std::string_view("mnkxbvp_").find(c) == std::string_view::npos) return false;
  }
  return digit;
}

}  // namespace

bool is_ptx_base(std::string_view word) { return std::find(std::begin(kBases), std::end(kBases), word) != std::end(kBases); }

bool is_ptx_modifier(std::string_view word) {
  if (const size_t colons = word.find("::"); colons != std::string_view::npos) {
    const std::string_view head = word.substr(0, colons);
    return head == "L1" || head == "L2" || is_ptx_modifier(head) || head == "mbarrier" || head == "multicast" ||
           head == "cta_group" || head == "kind" || head == "collector" || head == "scale_vec" || head == "before_thread_sync" ||
           head == "tile" || head == "im2col" || head == "async" || head == "sync_restrict" || head == "tensormap" ||
           head == "op_restrict" || head == "acc";
  }
  if (std::find(std::begin(kModifiers), std::end(kModifiers), word) != std::end(kModifiers)) return true;
  if (is_shape(word)) return true;
  const size_t digit = word.find_first_of("0123456789");
  if (digit == std::string_view::npos || digit == 0) return false;
  // b32, u16x2, s8, f16x2: a type letter and a width that exists
  const std::string_view head = word.substr(0, digit);
  std::string_view width = word.substr(digit);
  if (head != "b" && head != "u" && head != "s" && head != "f") return false;
  if (const size_t x = width.find('x'); x != std::string_view::npos) {
    if (!all_digits(width.substr(x + 1))) return false;
    width = width.substr(0, x);
  }
  for (const std::string_view known : {"1", "2", "4", "8", "16", "32", "64", "128", "256", "1024"})
    if (width == known) return true;
  return false;
}

}  // namespace tcsim::isa::syntax
