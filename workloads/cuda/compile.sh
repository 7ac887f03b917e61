#!/usr/bin/env bash
# Compiles the .cu files to the .ptx beside them (needs nvcc; the compiled PTX is in the tree, so only after a change).
set -euo pipefail
cd "$(dirname "$0")"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
ptx() { "$nvcc" -ptx -O3 -lineinfo "$@"; }
ptx -arch=compute_75 sgemm_naive.cu -o sgemm_naive.ptx
ptx -arch=compute_75 sgemm_blocked.cu -o sgemm_blocked.ptx
ptx -arch=compute_75 wmma_gemm.cu -o wmma_gemm.ptx
ptx -arch=compute_75 -DTYPE=16 -DNAME=turing_f16 turing_mma.cu -o turing_f16.ptx
ptx -arch=compute_75 -DTYPE=8 -DNAME=turing_s8 turing_mma.cu -o turing_s8.ptx
for stages in 2 3 4; do
  ptx -arch=compute_80 -DSTAGES=$stages -DSWIZZLE=1 -DNAME=mma_s${stages}_xor mma_multistage.cu -o mma_s${stages}_xor.ptx
done
ptx -arch=compute_80 -DSTAGES=3 -DSWIZZLE=0 -DNAME=mma_s3_none mma_multistage.cu -o mma_s3_none.ptx
for stages in 2 4; do
  ptx -arch=compute_90a -DSTAGES=$stages -DNAME=hopper_ws_s${stages} hopper_ws/hopper_ws.cu -o hopper_ws/hopper_ws_s${stages}.ptx
done
# No paths of this machine in what is committed.
sed -i -E 's#(\.file\s+[0-9]+ )"[^"]*/#\1"#' ./*.ptx hopper_ws/*.ptx
