"""What an answer is worth. First what needs no model (numbers, names, claims found in what was given), then what a judge says of the rest.

    numbers.py       amounts with unit, scale and sign; right within a tolerance
    names.py         ANLS of names and short spans
    judge.py         a model as judge: against gold, of two answers, of claims; series
    pairs.py         two asks with places swapped made one outcome; flip rate, win rate
    claims.py        claims against what the answerer was given
    judgements.py    rows of a whole set, resumed
    figures.py       all of it as figures with intervals
"""
