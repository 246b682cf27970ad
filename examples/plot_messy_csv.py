"""
A messy CSV file on the command line
====================================

A file as a spreadsheet exports it: a remark above the header, semicolons, decimal
commas, dates with the day first, a text among numbers, and one label in two spellings.
The command line reads it and reports what is unusual.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
n = 400
price, visits = rng.gamma(3.0, 40.0, n), rng.poisson(4, n)
days = np.datetime64("2024-01-01") + rng.integers(0, 360, n)
stays = rng.random(n) < 1 / (1 + np.exp(0.02 * (price - 120) - 0.5 * (visits - 4)))
lines = ["# exported on Monday", "joined;price;visits;city;stays"]
for day, cost, times, stay in zip(days, price, visits, stays, strict=True):
    year, month, date = str(day).split("-")
    cost = "unknown" if rng.random() < 0.01 else f"{cost:.2f}".replace(".", ",")
    label = ("Yes" if rng.random() < 0.02 else "yes") if stay else "no"
    city = rng.choice(["Bern", "Basel", "Chur"])
    lines.append(f"{date}.{month}.{year};{cost};{times};{city};{label}")
folder = Path(tempfile.mkdtemp())
(folder / "customers.csv").write_text("\n".join(lines) + "\n")


def skconftree(*arguments):
    """Run the command, as a terminal does, and print what it says."""
    command = [sys.executable, "-P", "-m", "skconftree", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    print(result.stderr + result.stdout)


# %%
# The notes report what is unusual, and what to do about it:

skconftree("customers.csv", "--target", "stays", "--baselines", "none", "--folds", "5")

# %%
# Labels in two spellings are corrected in the file; `--dates` sets the order of day and
# month:

text = (folder / "customers.csv").read_text().replace(";Yes\n", ";yes\n")
(folder / "mended.csv").write_text(text)
options = ["--target", "stays", "--dates", "dmy", "--baselines", "none", "--folds", "5"]
skconftree("mended.csv", *options, "--output", "model.skc", "--plot", "tree.png")

# %%
# The model predicts other files. Here the predictions for new customers are shown with
# their cities:

new = ["joined;price;visits;city", "24.12.2024;19,90;7;Bern", "31.12.2024;240;1;Zug"]
(folder / "new.csv").write_text("\n".join(new) + "\n")
skconftree("predict", "model.skc", "new.csv", "--keep", "city,price")

# %%
# The tree that `--plot` has drawn:

_, ax = plt.subplots(figsize=(9, 6), layout="constrained")
ax.imshow(plt.imread(folder / "tree.png"))
ax.set_axis_off()
plt.show()
