"""When threads share the work on one tree."""

from ..utils._team import Team, number_of_threads

# Values of a table from which on threads are worth what it takes to start them and to
# prepare them; those of one that is looked ahead in are visited many times.
WORTH_A_TEAM, WORTH_WITH_LOOKAHEAD = 262_144, 32_768


def team_for(table, n_jobs, lookahead):
    """Make the team that grows a tree of a table, or None if one thread does.

    The tree does not depend on it.
    """
    least = WORTH_A_TEAM if lookahead is None else WORTH_WITH_LOOKAHEAD
    n_values = len(table.y) * table.schema.n_features
    is_left_to_one = n_values < least or table.is_sparse
    if is_left_to_one and n_jobs != 0:  # which is an error; to ask joblib takes a while
        return None
    n_threads = number_of_threads(n_jobs)
    return None if n_threads == 1 else Team(n_threads)
