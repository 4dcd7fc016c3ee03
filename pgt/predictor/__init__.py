"""The predictor: where people go next, in two lines, with the model that wins.

`pgt.predictor.estimator` has the class. The other modules are what it stands on: tables of any
kind, questions without an answer yet, answers, and the file that holds everything.
"""
