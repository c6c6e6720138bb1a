"""Writes window_plans.txt, with which window_steps_test.cpp compares: steps of random windows by a plain NumPy planner.

usage: make_window_plans.py > window_plans.txt

A line is a window: lanes, budget, arrangement, whether a step is padded (0: it costs the sum), most samples of a lane,
number of costs, costs by position, and the steps: positions by lane ('-': absent), lanes apart by '/', steps by '|'.
Position p lies in lane p modulo the number of lanes. Steps are listed before they are permuted.
"""

import heapq
import itertools

import numpy as np


def greedy(reach, length, cap):
    """Ends of runs, each as long as stays under `cap`."""
    ends, a = [0], 0
    while a < length:
        a = min(length, max(a + 1, reach(a, cap)))
        ends.append(a)
    return ends


def even(reach, length, cap):
    """The smallest cap that needs no more steps."""
    best, low, high = greedy(reach, length, cap), 0, cap
    while high - low > max(1, cap // 256):
        middle = (low + high) // 2
        ends = greedy(reach, length, middle)
        if len(ends) <= len(best):
            best, high = ends, middle
        else:
            low = middle
    return best


def deal(costs, budget, most):
    """Costliest first, each index to the step whose fullest lane is emptiest; again until no step has to be added."""
    lanes, length = costs.shape
    alone = int((costs.max(0) > budget).sum())
    steps = [[i] for i in range(alone)]
    if alone == length:
        return steps
    rows = costs.T.tolist()
    wanted = max(1, -(-int(costs[:, alone:].sum(1).max()) // budget), -(-(length - alone) // most))
    while True:
        heap = [(0, s) for s in range(wanted)]
        bins, loads = [[] for _ in range(wanted)], [[0] * lanes for _ in range(wanted)]
        for i in range(alone, length):
            while heap and len(bins[heap[0][1]]) == most:
                heapq.heappop(heap)
            load = [a + b for a, b in zip(loads[heap[0][1]], rows[i], strict=True)] if heap else None
            if load and max(load) <= budget:
                s = heap[0][1]
                loads[s] = load
                heapq.heapreplace(heap, (max(load), s))
            else:
                s = len(bins)
                bins.append([])
                loads.append(rows[i])
                heapq.heappush(heap, (max(rows[i]), s))
            bins[s].append(i)
        if len(bins) == wanted:
            return steps + [b for b in bins if b]
        wanted = len(bins)


def plan(cost, lanes, budget, arrangement, padded, most):
    """Steps of a window: positions by lane and index, -1 where a sample is absent."""
    n = len(cost)
    length = -(-n // lanes)
    pos = np.arange(length * lanes).reshape(length, lanes).T.copy()
    c = np.where(pos < n, cost[np.minimum(pos, n - 1)], 0)
    pos[pos >= n] = -1
    if arrangement != "in_order":
        order = np.argsort(-c, axis=1, kind="stable")
        pos, c = np.take_along_axis(pos, order, 1), np.take_along_axis(c, order, 1)
    if arrangement == "deal":
        return [pos[:, s] for s in deal(c, budget, most)]
    if padded:
        longest = np.maximum(1, -(-c.max(0) // padded) * padded)

        def reach(a, cap):
            top = np.maximum.accumulate(longest[a : a + min(most, 1 + cap // int(longest[a]))])
            return a + int((top * np.arange(1, len(top) + 1) <= cap).sum())
    else:
        sums = np.concatenate([np.zeros((lanes, 1), np.int64), np.cumsum(c, 1)], 1)

        def reach(a, cap):
            ends = [int(np.searchsorted(sums[u], sums[u, a] + cap, "right")) for u in range(lanes)]
            return min(a + most, min(ends) - 1)

    ends = even(reach, length, budget)
    return [pos[:, a:b] for a, b in itertools.pairwise(ends)]


def main():
    """Print all windows."""
    for case in range(60):
        rng = np.random.default_rng(case)
        lanes, n = int(rng.choice([1, 2, 3, 4, 8])), int(rng.integers(1, 120))
        arrangement = ["in_order", "deal", "bucket"][case % 3]
        padded = int(rng.choice([0, 1, 8])) if arrangement != "deal" else 0
        most = int(rng.integers(1, 12)) if case % 5 == 0 else 1 << 30
        cost = np.exp(rng.normal(3, 1.2, n)).astype(np.int64) + (0 if case % 7 == 0 else 1)
        budget = int(rng.integers(10, 800))
        if padded:
            cost = -(-cost // padded) * padded
        steps = plan(cost, lanes, budget, arrangement, padded, most)
        text = " | ".join(" / ".join(" ".join("-" if p < 0 else str(p) for p in lane) for lane in s) for s in steps)
        print(lanes, budget, arrangement, int(padded > 0), most, n, *cost, "|", text)


if __name__ == "__main__":
    main()
