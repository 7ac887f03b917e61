"""The cases: arguments of `tcsim gemm` and sizes. Names say style, tile, stages, and what differs from f16, tn, 1x1, TMA epilogue."""

S, M, L = (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048)
WIDE, TALL = (1024, 4096, 512), (4096, 1024, 2048)
SHORT = {"tma": "hopper-tma", "ws": "hopper-ws", "coop": "hopper-cooperative", "pp": "hopper-pingpong"}


def all_cases():
    """{name: (options of tcsim gemm, sizes)}"""
    cases = {}

    def add(style, tile, stages, sizes, suffix="", **options):
        options = {"style": SHORT[style], "tile": tile, "stages": stages, **options}
        cases["_".join(x for x in (style, tile, f"s{stages}", suffix) if x)] = (options, sizes)

    for stages in (1, 2, 3, 4):
        add("tma", "128x128x64", stages, (S, M, L))
    for stages in (1, 3):
        add("tma", "64x128x64", stages, (S, M))
    add("tma", "64x64x64", 4, (S, M))
    for stages in (2, 4):
        add("tma", "128x64x64", stages, (S, M))
    add("tma", "128x128x64", 4, (M,), "c2x1", cluster="2x1")
    for stages in (1, 2, 3, 4, 6):
        add("ws", "128x128x64", stages, (S, M, L) if stages in (2, 4) else (S, M))
    for stages in (2, 3, 4):
        add("ws", "128x256x64", stages, (S, M, L))
    add("ws", "64x256x64", 4, (S, M))
    add("ws", "256x128x64", 4, (S, L))
    add("ws", "128x64x64", 4, (S, M))
    for cluster in ("2x1", "1x2", "2x2"):
        add("ws", "128x128x64", 4, (M, L), "c" + cluster, cluster=cluster)
    add("ws", "128x256x64", 4, (S, L), "c2x1", cluster="2x1")
    add("ws", "128x128x64", 4, (S, M), "direct", epilogue="direct")
    add("ws", "128x128x64", 4, (S, M), "noreg", setmaxnreg="false")
    add("ws", "128x128x64", 4, (S,), "nn", layout="nn")
    add("ws", "128x128x64", 4, (S,), "nt", layout="nt")
    add("coop", "128x128x64", 4, (S, M, L))
    for stages in (3, 4):
        add("coop", "128x256x64", stages, (M, L, WIDE) if stages == 4 else (S, L))
    add("coop", "256x128x64", 4, (L, TALL))
    for cluster in ("2x1", "1x2"):
        add("coop", "128x128x64", 4, (L, WIDE), "c" + cluster, cluster=cluster)
    add("coop", "128x128x64", 4, (L, WIDE), "rastern", raster="n")
    for stages in (2, 4, 5):
        add("pp", "128x128x64", stages, (M, L, WIDE) if stages == 4 else (S, L))
    add("pp", "64x128x64", 4, (S, M))
    add("pp", "64x256x64", 4, (S, L))
    add("pp", "128x128x64", 4, (L, TALL), "c2x1", cluster="2x1")
    add("pp", "128x128x64", 4, (L,), "direct", epilogue="direct")
    add("ws", "128x128x64", 4, (S, M), "bf16", dtype="bf16")
    add("ws", "128x128x32", 4, (S, M), "tf32", dtype="tf32")
    add("ws", "128x128x128", 4, (S, M), "e4m3", dtype="e4m3")
    add("ws", "128x128x128", 4, (S, M), "e4m3_promote", dtype="e4m3", promote=None)
    add("ws", "128x128x128", 4, (S, M), "s8", dtype="s8")
    add("coop", "128x128x128", 4, (S, L), "e4m3", dtype="e4m3", out="bf16")
    add("pp", "64x128x128", 4, (S,), "e5m2", dtype="e5m2")
    add("pp", "128x128x32", 3, (S,), "tf32", dtype="tf32")
    add("tma", "128x128x128", 3, (S,), "s8", dtype="s8")
    add("tma", "128x128x64", 3, (S,), "f32out", out="f32")
    return cases


def points():
    """(case, (M, N, K)) of every row, in order."""
    return [(case, size) for case, (_, sizes) in all_cases().items() for size in sizes]


def launch_name(case, size):
    return f"{case}__{size[0]}x{size[1]}x{size[2]}"
