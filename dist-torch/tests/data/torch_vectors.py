#!/usr/bin/env python3
"""Writes torch_vectors.json, the draws of a real torch that tests/it/torch.rs compares with.

    python torch_vectors.py > torch_vectors.json         needs torch, on the CPU
    python torch_vectors.py --long > torch_long.json     randperm beyond the length at which its algorithm changes (4 GB, a minute)

A list of more than 64 numbers is stored as its length, first and last numbers, and a checksum over all of it.
"""

import json
import sys

import torch
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, WeightedRandomSampler

MASK = (1 << 64) - 1


def stored(numbers):
    numbers = [int(n) for n in numbers]
    if len(numbers) <= 64:
        return numbers
    # FNV-1a over 64-bit words
    checksum = 0xCBF29CE484222325
    for n in numbers:
        checksum = ((checksum ^ n) * 0x100000001B3) & MASK
    return {"len": len(numbers), "first": numbers[:8], "last": numbers[-8:], "fnv": checksum}


def generator(seed):
    return torch.Generator().manual_seed(seed)


def vectors():
    seeds = [0, 7, 12345, (1 << 32) - 1, (1 << 40) + 3]
    out = {"torch": torch.__version__, "randperm": [], "numbers": [], "randint": [], "random": [], "weighted": []}
    for seed in seeds:
        for n in [1, 2, 3, 10, 64, 1000, 60000]:
            out["randperm"].append({"seed": seed, "n": n, "rows": stored(torch.randperm(n, generator=generator(seed)))})
        g = generator(seed)
        empty = torch.empty(4, dtype=torch.int64)
        uniform = torch.empty(4, dtype=torch.float64)
        out["numbers"].append({
            "seed": seed,
            "random_": [int(torch.empty((), dtype=torch.int64).random_(generator=g)) for _ in empty],
            # as bits, because JSON readers may round
            "uniform_bits": [int(b) for b in uniform.uniform_(generator=g).view(torch.int64)],
            "randint": [
                [high, [int(torch.randint(high=high, size=(), dtype=torch.int64, generator=g)) for _ in range(4)]]
                for high in [1, 7, (1 << 28) - 1, 1 << 28, (1 << 32) + 5, (1 << 62) + 1]
            ],
        })
    negative = torch.Generator()
    negative.manual_seed(-5)
    out["negative_seed"] = {"seed": -5, "rows": stored(torch.randperm(10, generator=negative))}

    # samplers with a generator, and with torch's global one; `next` is what the program would draw after them
    for n, replacement, num_samples in [
        (10, False, None), (10, False, 7), (10, False, 25), (10, False, 20), (10, True, None), (10, True, 7), (10, True, 64), (10, True, 70),
        (1000, False, None), (60000, False, None), (60000, True, 100),
    ]:
        for seed in [0, 7]:
            case = {"n": n, "replacement": replacement, "num_samples": num_samples, "seed": seed}
            g = generator(seed)
            case["given"] = stored(RandomSampler(range(n), replacement, num_samples, generator=g))
            case["given_next"] = int(torch.empty((), dtype=torch.int64).random_(generator=g))
            torch.manual_seed(seed)
            case["global"] = stored(RandomSampler(range(n), replacement, num_samples))
            case["global_next"] = int(torch.empty((), dtype=torch.int64).random_())
            out["random"].append(case)

    for weights, num_samples in [
        ([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 5), ([1, 1], 40), ([0, 5, 0, 1, 0], 40), ([1e-300, 1, 1e300], 20), ([0.3] * 7, 200),
        ([(i * 2654435761 % 1000) / 7 for i in range(1000)], 300),
    ]:
        for seed in [0, 7]:
            g = generator(seed)
            rows = stored(WeightedRandomSampler(weights, num_samples, generator=g))
            out["weighted"].append({
                # as bits, because JSON readers may round
                "weight_bits": [int(b) for b in torch.as_tensor(weights, dtype=torch.double).view(torch.int64)],
                "num_samples": num_samples, "seed": seed, "rows": rows,
                "next": int(torch.empty((), dtype=torch.int64).random_(generator=g)),
            })

    out["loader"] = []
    for n, seed, given in [(10, 0, False), (10, 0, True), (1000, 7, False), (60000, 12345, False), (60000, 12345, True)]:
        torch.manual_seed(seed)
        g = generator(seed) if given else None
        loader = DataLoader(list(range(n)), shuffle=True, batch_size=None, generator=g)
        epochs = []
        for _ in range(2):
            iterator = iter(loader)
            rows = stored(int(row) for row in iterator)
            epochs.append({"base_seed": int(iterator._base_seed), "rows": rows})
        after = int(torch.empty((), dtype=torch.int64).random_(generator=g))
        out["loader"].append({"n": n, "seed": seed, "given": given, "epochs": epochs, "next": after})

    out["distributed"] = []
    for n in [0, 1, 3, 10, 23, 1000, 60000]:
        for replicas in [1, 2, 3, 8]:
            for shuffle, drop_last, seed, epoch in [(False, False, 0, 0), (True, False, 0, 0), (True, False, 5, 3), (True, True, 5, 3), (False, True, 0, 1)]:
                for rank in {0, replicas // 2, replicas - 1}:
                    sampler = DistributedSampler(range(n), replicas, rank, shuffle, seed, drop_last)
                    sampler.set_epoch(epoch)
                    out["distributed"].append({
                        "n": n, "replicas": replicas, "rank": rank, "shuffle": shuffle, "drop_last": drop_last, "seed": seed, "epoch": epoch,
                        "rows": stored(sampler),
                    })
    return out


def long():
    out = {"torch": torch.__version__, "randperm": []}
    for n in [(1 << 32) // 20 - 1, (1 << 32) // 20]:
        rows = torch.randperm(n, generator=generator(3))
        step = n // 61
        out["randperm"].append({
            "seed": 3, "n": n, "step": step, "rows": [int(row) for row in rows[::step]], "first": [int(row) for row in rows[:8]],
            "last": [int(row) for row in rows[-8:]],
        })
    return out


text = json.dumps(long() if "--long" in sys.argv else vectors(), separators=(",", ":"))
print(text.replace('},{', '},\n{').replace('],"', '],\n"'))
