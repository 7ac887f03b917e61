#include "sim/gpu/count_operations.h"

#include "sim/sm/pipes.h"

namespace tcsim::sim {
namespace {

using isa::TimingClass;

Counter counter_of(Pipe pipe, TimingClass c) {
  switch (pipe) {
    case Pipe::alu: return Counter::pipe_alu;
    case Pipe::fma: return c == TimingClass::half ? Counter::pipe_fp16 : Counter::pipe_fma;
    case Pipe::fp64: return Counter::pipe_fp64;
    case Pipe::xu: return Counter::pipe_xu;
    case Pipe::tensor: return Counter::pipe_tensor;
    case Pipe::uniform: return Counter::pipe_uniform;
    case Pipe::mio:
    case Pipe::lsu: return Counter::pipe_lsu;
    default: return Counter::count;
  }
}

Counter counter_of(TimingClass c) {
  switch (c) {
    case TimingClass::lds: return Counter::op_shared_ld;
    case TimingClass::sts: return Counter::op_shared_st;
    case TimingClass::atoms: return Counter::op_shared_atom;
    case TimingClass::ldsm: return Counter::op_ldsm;
    case TimingClass::stsm: return Counter::op_stsm;
    case TimingClass::ldgsts: return Counter::op_ldgsts;
    case TimingClass::ldg: return Counter::op_global_ld;
    case TimingClass::stg: return Counter::op_global_st;
    case TimingClass::atomg: return Counter::op_global_atom;
    case TimingClass::red: return Counter::op_global_red;
    case TimingClass::ldl: return Counter::op_local_ld;
    case TimingClass::stl: return Counter::op_local_st;
    case TimingClass::branch: return Counter::op_branch;
    case TimingClass::shfl: return Counter::op_shfl;
    case TimingClass::bar: return Counter::op_barrier;
    default: return Counter::count;
  }
}

Counter tensor_counter(isa::Type a) {
  if (a == isa::Type::f64) return Counter::pipe_tensor_dmma;
  return isa::is_float(a) || a == isa::Type::e4m3 || a == isa::Type::e5m2 ? Counter::pipe_tensor_hmma : Counter::pipe_tensor_imma;
}

}  // namespace

void count_operations(const LoweredProgram& program, const std::vector<OpStats>& ops, CounterBlock& counters) {
  const auto add = [&](Counter counter, uint64_t n) {
    if (counter != Counter::count) counters[counter] += n;
  };
  for (size_t i = 0; i < ops.size(); ++i) {
    const MachineOp& op = program.ops[i];
    const Pipe pipe = pipe_of(op.timing);
    add(Counter::inst_issued, ops[i].executed);
    add(counter_of(pipe, op.timing), ops[i].executed);
    add(counter_of(op.timing), ops[i].executed);
    if (op.timing == TimingClass::branch || op.timing == TimingClass::bar) add(Counter::pipe_cbu, ops[i].executed);
    // wgmma counts its four warps, under gmma and under its type (shared rows of an H200: ncu's hmma and gmma are equal).
    const bool wgmma = op.timing == TimingClass::wgmma;
    if (wgmma) add(Counter::pipe_tensor, ops[i].executed), add(Counter::pipe_tensor_gmma, ops[i].executed);
    if (op.timing == TimingClass::tcgen05_mma) add(ops[i].kind == "i8" ? Counter::pipe_tensor_imma : Counter::pipe_tensor_hmma, ops[i].executed);
    else if (wgmma || pipe == Pipe::tensor) add(tensor_counter(program.kernel->insts[op.inst].type2), ops[i].executed);
  }
}

}  // namespace tcsim::sim
