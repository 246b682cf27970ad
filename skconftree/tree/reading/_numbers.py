"""Numbers as people read them, the same wherever a tree is shown."""

import math

LOG_10 = math.log(10.0)


def write_expected(log_expected):
    """Write an expected number with one digit: ``"0.02"``, ``"3e-94"``, ``"12"``."""
    number = math.exp(log_expected)
    if number >= 9.5:
        return write_count(number)
    if number >= 0.00095:
        return f"{number:.1g}"
    power = math.floor(log_expected / LOG_10)
    digit = round(math.exp(log_expected - power * LOG_10))
    if digit == 10:
        digit, power = 1, power + 1
    return f"{digit}e{power}"


def write_count(n):
    """Write a count with separated thousands, a very large one shortened."""
    return f"{n:,.0f}" if n < 1e10 else f"{n:.1e}"


def write_weight(weight):
    """Write how many rows there are, which class weights never are but streams may."""
    return write_count(weight) if float(weight).is_integer() else f"{weight:,.6g}"


def write_rows(weight):
    """Write a number of rows with its noun."""
    return f"{write_weight(weight)} {'row' if weight == 1 else 'rows'}"


def write_probability(probability):
    """Write a probability with two decimals, more where it would look certain."""
    for decimals in (2, 3, 4):
        written = f"{probability:.{decimals}f}"
        if probability == 1.0 or float(written) < 1.0:
            return written
    return "> 0.9999"
