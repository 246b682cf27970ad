"""Export of trees as text, HTML, rules, records and scikit-learn objects."""
