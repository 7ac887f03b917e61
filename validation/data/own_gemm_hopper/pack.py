#!/usr/bin/env python3
"""pack.py FOLDER: from what emit.py wrote, makes this folder's ptx/ and kernels.json, and checks that launch.toml.in with the facts of
kernels.json says what the launch file of each row says."""
import json
import os
import re
import shutil
import sys
import tomllib

import cases

HERE = os.path.dirname(os.path.abspath(__file__))


def facts(case, options, launch, text):
    maps, gemm = launch["tensormap"], launch["check"]["gemm"]
    direct = "mapC" not in maps
    out = {"style": options["style"], "tile": [int(x) for x in options["tile"].split("x")], "stages": options["stages"],
           "cluster": launch.get("cluster", [1, 1, 1]), "threads": launch["block"][0], "dynamic_smem_bytes": launch["dynamic_smem_bytes"],
           "arg_c": '{ buffer = "C" }' if direct else '{ tensormap = "mapC" }', "dtype": launch["buffer"]["A"]["dtype"],
           "dtype_c": launch["buffer"]["C"]["dtype"], "init": launch["buffer"]["A"]["init"], "trans_a": gemm["trans_a"], "trans_b": gemm["trans_b"],
           # The map of a kernel that stores C itself is not used: any box does.
           **{"box_" + x: maps["map" + x.upper()]["box"] if "map" + x.upper() in maps else [8, 64] for x in "abc"}}
    for key in ("rtol", "atol"):
        out[key] = re.search(rf"{key} = (\S+)", text).group(1)
    # A list in the template stays text.
    return {k: json.dumps(v) if k.startswith("box_") or k == "cluster" else v for k, v in out.items()}


def same_launch(template, known, launch, size):
    values = {**known, "M": size[0], "N": size[1], "K": size[2], "grid_x": launch["grid"][0], "grid_y": launch["grid"][1]}
    filled = tomllib.loads(re.sub(r"@(\w+)@", lambda m: str(values[m[1]]).lower() if isinstance(values[m[1]], bool) else str(values[m[1]]), template))
    if "mapC" not in launch["tensormap"]:
        del filled["tensormap"]["mapC"]
    wanted = {"cluster": [1, 1, 1], **launch}
    for spec in wanted["tensormap"].values():  # the defaults of the contract: dense, the buffer's shape reversed
        shape = wanted["buffer"][spec["buffer"]]["shape"]
        assert spec.pop("dims") == shape[::-1]
        assert len(spec.pop("strides_bytes")) == 1
    return filled == wanted


def main(folder):
    template = open(os.path.join(HERE, "launch.toml.in")).read()
    os.makedirs(os.path.join(HERE, "ptx"), exist_ok=True)
    kernels = {}
    for case, (options, sizes) in cases.all_cases().items():
        for size in sizes:
            text = open(os.path.join(folder, cases.launch_name(case, size) + ".toml")).read()
            launch = tomllib.loads(text)
            kernels.setdefault(case, facts(case, options, launch, text))
            assert same_launch(template, kernels[case], launch, size), (case, size)
        shutil.copy(os.path.join(folder, case + ".ptx"), os.path.join(HERE, "ptx", case + ".ptx"))
    with open(os.path.join(HERE, "kernels.json"), "w") as out:
        out.write("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in kernels.items()) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
