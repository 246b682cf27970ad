"""What a release is made of agrees with itself: nobody runs a release on each change.

Workflows, issue forms and CITATION.cff are checked by `.ci/lint`.
"""

import importlib
import importlib.util
import re
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]


def read_yaml(path):
    yaml = pytest.importorskip("yaml", reason="reading workflows needs PyYAML")
    # YAML 1.1 takes the key "on" for a truth value
    return {
        "on" if key is True else key: value
        for key, value in yaml.safe_load(path.read_text("utf-8")).items()
    }


def test_one_list_of_python_versions():
    told = {
        line.rsplit(" ", 1)[1]
        for line in PROJECT["classifiers"]
        if re.search(r":: 3\.\d+$", line)
    }
    build = PYPROJECT["tool"]["cibuildwheel"]["build"].split()
    # those without the GIL ("cp313t-*") are builds of the same versions
    assert {f"3.{name[3:-2].rstrip('t')}" for name in build} == told
    workflow = read_yaml(ROOT / ".github/workflows/tests.yml")
    matrix = workflow["jobs"]["core"]["strategy"]["matrix"]["include"]
    used = {row["python"].rstrip("t") for row in matrix}
    ordered = sorted(told, key=lambda version: int(version[2:]))
    assert {ordered[0], ordered[-1]} <= used <= set(ordered)
    assert PROJECT["requires-python"] == f">={ordered[0]}"


def test_the_number_of_files_that_are_compiled():
    n = len(list((ROOT / "skconftree").rglob("*.pyx")))
    for page in ("README.md", "doc/install.rst"):
        text = (ROOT / page).read_text("utf-8")
        (stated,) = re.findall(r"compiles some (\d+) files", text)
        assert abs(int(stated) - n) <= 3, page


def test_wheels_are_built_with_the_wheels_of_others():
    """Releases of NumPy and SciPy leave out Pythons that ours are for, such as 3.13t.

    pip takes the newest release all the same, and would compile it.
    """
    settings = PYPROJECT["tool"]["cibuildwheel"]
    assert settings["environment"] == {"PIP_PREFER_BINARY": "1"}
    # what a system has of its own would take its place
    systems = [settings[name] for name in ("linux", "macos", "windows")]
    assert not any("environment" in one for one in systems)
    script = (ROOT / ".ci/wheels").read_text("utf-8").splitlines()
    builds = [i for i, line in enumerate(script) if "-m build" in line]
    assert script.index("export PIP_PREFER_BINARY=1") < min(builds)


def floors(requirements):
    return {
        re.match(r"[\w-]+", one)[0]: re.search(r">=([\d.]+)", one)[1]
        for one in requirements
    }


def test_the_oldest_versions_are_those_that_are_tested():
    lines = (ROOT / ".ci/oldest.txt").read_text("utf-8").splitlines()
    pinned = dict(line.removesuffix(".*").split("==") for line in lines if "==" in line)
    assert pinned == floors(PROJECT["dependencies"])
    # compiled code takes functions of SciPy, whose names in C have changed with 1.13
    built_with = floors(PYPROJECT["build-system"]["requires"])
    assert pinned["scipy"] == built_with["scipy"]


def test_the_recipe_requires_what_the_package_requires():
    recipe = read_yaml(ROOT / "conda/recipe.yaml")
    wanted = recipe["requirements"]
    run = {tuple(one.split(" ")) for one in wanted["run"]}
    ours = {re.match(r"([\w-]+)(.*)", one).groups() for one in PROJECT["dependencies"]}
    assert run == ours | {("python", PROJECT["requires-python"])}
    host = {one.replace(" ", "") for one in wanted["host"]}
    assert host == {"python", "pip", *PYPROJECT["build-system"]["requires"]}
    script = dict(one.split(" = ") for one in recipe["build"]["python"]["entry_points"])
    assert script == PROJECT["scripts"]
    for module in recipe["tests"][0]["python"]["imports"]:
        importlib.import_module(module)


def test_the_recipe_is_what_rattler_build_reads():
    """Names, conditions and compilers: building it needs conda-forge's packages."""
    rattler_build = pytest.importorskip("rattler_build")
    recipe = rattler_build.Stage0Recipe.from_file(str(ROOT / "conda/recipe.yaml"))
    variants = {"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "python": ["3.13.*"]}
    (rendered,) = recipe.render(
        rattler_build.VariantConfig(variants), rattler_build.RenderConfig()
    )
    found = rendered.recipe.to_dict()
    assert found["package"]["name"] == PROJECT["name"]
    assert [one.split("_")[0] for one in found["requirements"]["build"]] == [
        "gcc",
        "sysroot",
    ]


@pytest.fixture(scope="module")
def release():
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci/release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_version(release):
    versions = release.versions()
    assert len(set(versions.values())) == 1, versions
    assert None not in versions.values()


def test_a_release_that_is_not_ready_is_refused(release, tmp_path, monkeypatch):
    assert release.complaints("v9.9.9")
    version = release.versions()["meson.build"]
    for name in [*release.versions(), "pyproject.toml"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(release, "ROOT", tmp_path)

    def change(name, pattern, new):
        text = (tmp_path / name).read_text("utf-8")
        changed = re.sub(pattern, new, text, count=1, flags=re.MULTILINE)
        (tmp_path / name).write_text(changed, encoding="utf-8")

    change("CHANGELOG.md", r"^## (\S+).*", r"## \1 (2030-01-31)")
    change("CITATION.cff", r"^(version: .*)", r"\1\ndate-released: 2030-01-31")
    text = (tmp_path / "pyproject.toml").read_text("utf-8").replace(".invalid", ".org")
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert release.complaints(f"v{version}") == []
    change("meson.build", r"version: '[^']+'", "version: '0.0.9'")
    assert len(release.complaints(f"v{version}")) == 1
