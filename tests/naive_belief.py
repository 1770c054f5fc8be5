"""A slow and obvious twin of the belief over places: every event is kept, every expert asked in turn."""

from itertools import product

import numpy as np


class NaiveBelief:
    """Experts (kernel, concentration, pooling, half-life) on dense kernels (m, n + 1, n + 1)."""

    def __init__(self, kernels, prior, trust, *, concentrations, poolings, half_lives, **settings):
        self.kernels, self.prior = kernels, prior
        self.grid = list(product(range(len(kernels)), concentrations, poolings, half_lives))
        lives = {h: 0.5 if h == np.inf else 0.5 / (len(half_lives) - 1) for h in half_lives}
        lives = {h: share / sum(lives.values()) for h, share in lives.items()}
        even = len(concentrations) * len(poolings)
        self.trust = [trust[m] / even * lives[h] for m, _, _, h in self.grid]
        self.weights = list(self.trust)
        self.settings = settings
        self.events = []  # dictionaries: thing, where (n + 1,) it is thought to have lain, looks

    def counts(self, thing, half_life):
        """Where the object lay if it was anywhere, fading with later events of the object."""
        out = self.all_counts(thing, half_life)
        out[-1] = 0.0
        return out

    def all_counts(self, thing, half_life):
        """The same with the absent atom."""
        out, age = np.zeros(len(self.prior)), 0
        for event in reversed(self.events):
            if event["thing"] == thing:
                out = out + 2 ** (-age / half_life) * event["where"]
                age += 1
        return out

    def opinion(self, expert, thing):
        """What one expert believes of the cells."""
        m, kappa, pooling, half_life = expert
        own = self.counts(thing, half_life)
        others = sum(self.counts(o, half_life) for o in self.settings["things"] if o != thing)
        others = others + np.zeros(len(self.prior))
        if pooling == np.inf:
            general = self.prior
        else:
            general = (pooling * self.prior + others @ self.kernels[m]) / (pooling + others.sum())
        return (kappa * general + own @ self.kernels[m]) / (kappa + own.sum())

    def mixture(self, thing):
        opinions = [self.opinion(expert, thing) for expert in self.grid]
        inside = sum(w * b for w, b in zip(self.weights, opinions, strict=True))
        absent = self.absent(thing)
        return (1 - absent) * inside + absent * np.eye(1, len(inside), len(inside) - 1)[0]

    def absent(self, thing):
        """As the last event of the object left it."""
        own = [event["absent"] for event in self.events if event["thing"] == thing]
        return own[-1] if own else self.settings["absent"]

    def missing(self):
        a, b = self.settings["missing"]
        missed = sum(event.get("missed", 0.0) for event in self.events)  # absent ones left out
        found = sum("looks" not in event for event in self.events)
        return (a + missed) / (a + b + missed + found)

    def judge(self, thing, event):
        absent = self.absent(thing)
        inside = np.append(event[:-1], 0.0)
        said = [
            (1 - absent) * (self.opinion(expert, thing) @ inside) + absent * event[-1]
            for expert in self.grid
        ]
        total = sum(w * s for w, s in zip(self.weights, said, strict=True))
        share = self.settings["share"]
        self.weights = [
            (1 - share) * w * s / total + share * t
            for w, s, t in zip(self.weights, said, self.trust, strict=True)
        ]

    def found(self, thing, cell):
        where = np.zeros(len(self.prior))
        where[cell] = 1.0
        self.judge(thing, where)
        absent = self.settings["absent"] if cell < len(where) - 1 else 0.5
        self.events.append({"thing": thing, "where": where, "absent": absent})
        self.explain(thing)

    def failed(self, thing, looks, rate):
        seen = np.append([1 - (1 - rate) ** n for n in looks], 0.0)
        fails = 1 - (1 - self.missing()) * seen
        inside, before = self.mixture(thing), self.absent(thing)
        after = before / (before + inside[:-1] @ fails[:-1])
        share, nowhere = self.settings["share"], np.zeros(len(self.prior))
        after = (1 - share) * after + share * self.settings["absent"]
        self.judge(thing, fails)
        event = {"thing": thing, "where": nowhere, "looks": looks, "seen": seen, "absent": after}
        self.events.append(event)
        self.explain(thing)

    def explain(self, thing):
        failures = [e for e in self.events if e["thing"] == thing and "looks" in e]
        for event in failures:
            event["where"] = np.zeros(len(self.prior))
        for _ in range(self.settings["steps"]):
            belief, missing = self.mixture(thing), self.missing()
            for event in failures:
                inside = np.append(belief[:-1], 0.0)
                here = inside * (1 - (1 - missing) * event["seen"])
                event["where"] = here / here.sum()
                missed = (inside * missing * event["seen"]).sum() / here.sum()
                event["missed"] = (1 - self.absent(thing)) * missed
