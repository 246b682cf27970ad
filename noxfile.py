#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Tasks of developers, each in a fresh environment: `nox --list`, `nox -s NAME`.

They are the parts of `.ci/run`, which every change has to pass, and what the workflows
add to it: other platforms, other versions of Python and of the libraries.
"""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"
PYPROJECT = nox.project.load_toml("pyproject.toml")
# What a platform, a compiler or the release of a library may break.
CORE = (
    *("tests/bounds", "tests/contracts", "tests/drift", "tests/tree"),
    "tests/test_common.py",
)


def tools(*groups):
    """Return the requirements of dependency groups."""
    return nox.project.dependency_groups(PYPROJECT, *groups)


@nox.session
def lint(session):
    """Check style, types, spelling and the files that services read."""
    session.install(*tools("lint"))
    session.run("bash", ".ci/lint", external=True)


@nox.session
def docs(session):
    """Build the documentation in doc/_build, with warnings as errors."""
    session.install(".", *tools("doc"))
    session.run("sphinx-build", "-q", "-W", "--keep-going", "doc", "doc/_build")


@nox.session
def tests(session):
    """Run the tests, or those that are named: `nox -s tests -- tests/bounds`."""
    session.install(".", *tools("test"))
    session.run("pytest", *session.posargs)


@nox.session(default=False)
def coverage(session):
    """Measure which lines and branches of the Python code the default tests reach."""
    session.install(".[dask,deploy]", *tools("test"), "pytest-cov>=7", "pytest-xdist")
    session.run(
        "pytest", "-n", "auto", "--cov", "--cov-report=term-missing:skip-covered"
    )


@nox.session(default=False)
def core(session):
    """Run the tests that depend on the platform and on the Python."""
    session.install(".", *tools("test"))
    session.run("pytest", *session.posargs, *CORE)


@nox.session(default=False)
def oldest(session):
    """Run the core tests with the oldest versions that pyproject.toml allows."""
    # Compiling takes a newer NumPy, so the package comes first, and then its libraries.
    session.install(".")
    session.install(*tools("test"), "-c", ".ci/oldest.txt", "scikit-learn")
    session.run("pytest", *session.posargs, *CORE)


@nox.session(default=False)
def prereleases(session):
    """Run the core tests with the next NumPy, SciPy and scikit-learn."""
    session.install(".", *tools("test"))
    nightly = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"
    session.install(
        *("--upgrade", "--pre", "--only-binary=:all:", "--extra-index-url", nightly),
        *("numpy", "scipy", "scikit-learn"),
    )
    session.run("pytest", *session.posargs, *CORE)


@nox.session(default=False)
def freethreaded(session):
    """Run the tests of threads on a Python without the GIL, then their fuzz themes.

    `nox -s freethreaded -p 3.14t -- 500` runs 500 sequences of each theme, not 200.
    """
    code = "import sys; sys.exit(getattr(sys, '_is_gil_enabled', lambda: True)())"
    session.run("python", "-c", code)
    # Of the tools only those that have wheels for such a Python.
    session.install(
        *("--only-binary=:all:", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow"),
        *("matplotlib", "skops", "pytest", "hypothesis"),
    )
    session.install("cython", "meson-python", "ninja")
    session.install("--no-deps", "--no-build-isolation", ".")
    names = ("free_threads", "threads", "forks", "shared_index", "learner_threads")
    paths = [f"tests/contracts/test_{name}.py" for name in (*names, "interrupt")]
    session.run("python", "-P", "-m", "pytest", "-m", "", *paths)
    n_sequences = session.posargs[0] if session.posargs else "200"
    for theme in ("threads", "shared"):
        session.run(
            *("python", "-P", "-m", "fuzz", n_sequences, "--theme", theme),
            *("--timeout", "600"),
            # What else a sequence imports may switch the GIL on: it stays off.
            env={"PYTHON_GIL": "0", "PYTHONPATH": "tests"},
        )


if __name__ == "__main__":
    nox.main()
