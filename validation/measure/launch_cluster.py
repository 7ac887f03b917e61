"""Launches empty kernels by cluster size; run it under ncu. usage: launch_cluster.py CUBINS LABELS.json"""
import json
import sys

from cuda_hopper import Hopper

folder = sys.argv[1]
dev = Hopper(folder, json.load(open(f"{folder}/manifest.json"))["files"])
labels = []
for repeat in range(2):
    for cluster in (1, 2, 4, 8):
        for ctas in (cluster, 120, 1200, 4800):
            for threads, smem in ((128, 0), (384, 200 * 1024)):
                dev.go("cl_empty", grid=ctas, cluster=cluster, block=threads, smem=smem, clear=False)
                labels.append({"kernel": "cl_empty", "cluster": cluster, "ctas": ctas, "threads": threads, "smem": smem, "repeat": repeat})
json.dump(labels, open(sys.argv[2], "w"))
