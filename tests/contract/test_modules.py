"""Documentation and code of modules, roles and playbooks say the same."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path.stem for path in (ROOT / "library").glob("accept_*.py"))
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
PLAYBOOKS = sorted([ROOT / "acceptance.yml", *(ROOT / "playbooks").glob("*.yml")])
BIN = Path(sys.executable).parent


def load(path: Path):
    spec = importlib.util.spec_from_file_location(f"contract_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(name: str) -> dict:
    """The argument spec of a node's module, or of the action plugin that does a controller module's work."""
    module = load(ROOT / "library" / f"{name}.py")
    return module.argument_spec() if hasattr(module, "argument_spec") else load(ROOT / "action_plugins" / f"{name}.py").ARGUMENTS


@pytest.mark.parametrize("name", MODULES)
def test_documented_options_are_those_of_the_code(name):
    options = yaml.safe_load(load(ROOT / "library" / f"{name}.py").DOCUMENTATION)["options"]
    keep = ("type", "elements", "required", "default", "choices")
    documented = {option: {key: text[key] for key in keep if key in text} for option, text in options.items()}
    assert documented == {option: {key: spec[key] for key in keep if key in spec} for option, spec in arguments(name).items()}
    assert all(text["description"] for text in options.values())


@pytest.mark.parametrize("name", MODULES)
def test_examples_and_return_are_yaml_of_the_module(name):
    module = load(ROOT / "library" / f"{name}.py")
    examples = yaml.safe_load(module.EXAMPLES)
    options = yaml.safe_load(module.DOCUMENTATION)["options"]
    for task in examples:
        assert set(task[name]) <= set(options)
        assert {option for option, text in options.items() if text.get("required")} <= set(task[name])
    assert all(value["description"] and value["type"] for value in yaml.safe_load(module.RETURN).values())


def test_ansible_doc_renders_every_module():
    done = subprocess.run(
        [BIN / "ansible-doc", "-t", "module", *MODULES],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in MODULES)
    assert "ERROR" not in done.stderr


@pytest.mark.parametrize("name", ROLES)
def test_a_role_documents_every_default(name):
    role = ROOT / "roles" / name
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text())
    assert {option: text["default"] for option, text in specs["options"].items()} == defaults
    assert all(text["description"] for text in specs["options"].values())
    assert all(key.startswith(f"{name}_") for key in defaults)
    assert len((role / "tasks" / "main.yml").read_text().splitlines()) <= 30
    assert (role / "README.md").exists()


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_every_playbook_is_named_in_the_readme(path):
    assert path.stem in (ROOT / "README.md").read_text() or path.stem in ("preflight", "judge")


def test_node_code_imports_no_more_than_a_node_has():
    """Standard library and its own package: nothing else is there on a node. Engines may ask the interpreter they were given for more."""
    allowed = set(sys.stdlib_module_names) | {"accept_node"}
    of_engines = {"torch", "numpy"}
    for path in (ROOT / "module_utils" / "accept_node").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if path.parent.name == "engines" and names and node.col_offset:  # inside a function
                names = [name for name in names if name.split(".")[0] not in of_engines]
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            assert {name.split(".")[0] for name in names} <= allowed, f"{path}:{node.lineno}"


@pytest.mark.parametrize("package", ["accept_node", "accept_judge"])
def test_there_is_no_import_circle(package):
    """Each module can be imported first."""
    names = [
        ".".join(path.relative_to(ROOT / "module_utils").with_suffix("").parts)
        for path in (ROOT / "module_utils" / package).rglob("*.py")
        if path.stem != "__init__"
    ]
    code = "import importlib, sys\nfor name in sys.argv[1:]:\n"
    code += "    [sys.modules.pop(m) for m in list(sys.modules) if m.startswith('accept_')]\n    importlib.import_module(name)\n"
    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "module_utils")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_no_role_or_module_holds_a_threshold_or_computes():
    """YAML is a table of contents: no shell, no set_fact."""
    for path in (ROOT / "roles").glob("*/tasks/*.yml"):
        text = path.read_text()
        assert "set_fact" not in text, path
        assert ".shell" not in text, path


def test_generated_pages_are_up_to_date():
    """docs/checks.md and docs/coverage.md are what make docs would write."""
    done = subprocess.run([sys.executable, ROOT / "tools" / "docs", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target


def test_every_test_file_has_a_name_of_its_own():
    """pytest imports test files by their bare names: two alike cannot be collected together."""
    names = sorted(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in set(names) if names.count(name) > 1] == []
