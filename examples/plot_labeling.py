"""
Query strategies compared with random sampling
==============================================

Labels are requested one by one. Random sampling is the baseline of every query
strategy, and margin sampling the usual choice. `simulate` compares both with other
strategies from the same initial labels.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree.active import simulate
from skconftree.inspection import ActiveCurveDisplay

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), LogisticRegression())
result = simulate(
    model, X, y, ["auto", "k_center"], cv=8, budget=60, batch_size=4, random_state=0
)

# %%
# The curves show the mean accuracy on rows outside the pool after each label, with
# standard errors. Margin sampling reaches the same accuracy with fewer labels than
# random sampling.

display = ActiveCurveDisplay.from_simulation(result, score_name="accuracy")

# %%
# The area under each curve, its gain over random sampling, and the number of runs, out
# of eight, in which it was larger.

for row in result.summary():
    print(f"{row.strategy:10} {row.area:.3f} {row.gain:+.3f} {row.wins} of 8")
