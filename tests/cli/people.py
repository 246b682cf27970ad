"""A table of people, with the oddities of one that was exported somewhere."""

import csv

import numpy as np

EDUCATION = ["10th", "<5th", "Bachelors", "Some college, no degree", "Masters"]


def write_people(path, seed=0, n=600):
    """Write a table of two numbers, a text, noise and an answer; give its path."""
    rng = np.random.default_rng(seed)
    age, hours = rng.integers(18, 80, n), rng.normal(40, 10, n).round(1)
    education = rng.choice(EDUCATION, n)
    degree = np.isin(education, ["Bachelors", "Masters"])
    score = 0.08 * (age - 45) + 0.05 * (hours - 40) + 2.2 * degree - 1.9
    answer = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no")
    shown = np.where(rng.random(n) < 0.03, "", hours.astype(str))
    noise = rng.normal(size=n).round(3)
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "education", "hours per week", "noise", "buys"])
        rows.writerows(zip(age, education, shown, noise, answer, strict=True))
    return path
