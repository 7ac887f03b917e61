#!/usr/bin/env bash
# device.sh FOLDER OUT [ROWS]: on the machine with the GPU, everything that is measured: checks.csv, bits.tar.gz, main and repeat reports.
set -uo pipefail
cd "$(dirname "$0")"
folder=$1 out=$2 rows=${3:-}
for _ in 1 2 3 4; do python3 measure.py check "$folder" "$out/checks.csv" && break; done
grep -c ',ok$' "$out/checks.csv"
grep -v ',ok$' "$out/checks.csv"
python3 measure.py dump "$folder" "$out/bits.tar.gz"
kernels='regex:^(gemm|hopper_ws_s[0-9])$'
profile() { ncu --cache-control all --clock-control none -k "$kernels" "$@"; }
metrics=$(python3 measure.py metrics <(ncu --query-metrics --chip gh100))
profile --metrics "$metrics" -o "$out/main" python3 measure.py run "$folder" 1 $rows | tail -2
profile --metrics sm__cycles_elapsed.max -o "$out/repeat" python3 measure.py run "$folder" 4 $rows | tail -2
for report in main repeat; do ncu --import "$out/$report.ncu-rep" --page raw --csv --print-units base >"$out/$report.csv"; done
