"""Which files a checkout consists of."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

UNTRACKED = {"build", "report.html", "__pycache__"}


def files_of(root: Path) -> list[str]:
    """The files of the checkout, relative to it and sorted: those that git tracks and those that
    it does not ignore; without git, all that are neither hidden nor built."""
    if (root / ".git").exists():
        git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
               "--exclude-standard"]
        listing = subprocess.run(git, capture_output=True, check=False)
        if listing.returncode == 0:
            names = set(listing.stdout.decode().split("\0"))
            return sorted(name for name in names if name and (root / name).is_file())
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in UNTRACKED and name[0] != "."]
        paths = (Path(folder) / name for name in names if name not in UNTRACKED)
        files += [path.relative_to(root).as_posix() for path in paths]
    return sorted(files)
