"""
What a query strategy is worth
==============================

Labels are requested one by one. Random sampling is what every strategy has to beat, and
margin sampling the usual one: `simulate` runs both beside the ones named, from the same
beginnings.
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
# The mean accuracy on rows outside the pool after each label, with standard errors.

display = ActiveCurveDisplay.from_simulation(result, score_name="accuracy")

# %%
# The area under each curve, its gain over random sampling, and in how many of the eight
# runs it was larger.

for row in result.summary():
    print(f"{row.strategy:10} {row.area:.3f} {row.gain:+.3f} {row.wins} of 8")
