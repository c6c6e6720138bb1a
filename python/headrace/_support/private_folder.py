"""Folders of a cache that are one user's alone: what lies in them is trusted as long as it is unchanged."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from headrace import _headrace
from headrace.errors import PermissionDeniedError

_OWN = "Give cache= a folder of your own."


class PrivateFolder:
    """A folder that this user alone may enter, with a note of what is known of the things in it.

    Args:
        path: The folder; it is made if it is missing.
        hint: What the user can do where it cannot be used.

    Raises:
        PermissionDeniedError: It belongs to another user, and may hold anything; or it cannot be made.
    """

    def __init__(self, path: Path, hint: str = _OWN) -> None:
        """Make the folder, or take it over."""
        self.path = path
        self._hint = hint
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                whose = f"it belongs to user {status.st_uid}" if stat.S_ISDIR(status.st_mode) else "it is no directory"
                raise self._refused(path, f"{whose}, and what is in it would be used as it is")
            if status.st_mode & 0o077:
                path.chmod(0o700)
        except PermissionDeniedError:
            raise
        except OSError as error:
            raise self._refused(path, f"it cannot be made: {error.strerror}") from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder's lock, for which other processes wait."""
        try:
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._refused(self.path, f"its lock cannot be opened: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def note(self) -> dict[str, Any]:
        """Return what :meth:`leave` was told; empty where nothing was, or it cannot be read."""
        with suppress(OSError, ValueError):
            noted = json.loads((self.path / "note.json").read_text())
            return noted if isinstance(noted, dict) else {}
        return {}

    def leave(self, **note: Any) -> None:
        """Note what is known of the folder; not where it may not be written, as others must find that out again."""
        with suppress(OSError):
            next_file = self.path / "note.json.next"
            next_file.write_text(json.dumps(note))
            next_file.replace(self.path / "note.json")

    def version(self, name: str) -> str | None:
        """Return a text that is equal as long as ``name`` in the folder, and the files in it, are unchanged."""
        return _headrace.version_text(os.fsencode(self.path / name))

    def remove(self, name: str) -> None:
        """Remove ``name`` from the folder; of a link, the link."""
        path = self.path / name
        try:
            if path.is_symlink():
                path.unlink()
            else:
                shutil.rmtree(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise self._refused(path, f"it is damaged, and cannot be removed: {error.strerror}") from None

    def _refused(self, path: Path, why: str) -> PermissionDeniedError:
        text = f"{path}: {why}. {self._hint}"
        return PermissionDeniedError(text, message=why, file=str(path), stage="cache", hint=self._hint)
