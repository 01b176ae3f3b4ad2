"""A class-data archive for Spark's JVM: written once, it takes some seconds off every start.

``python -m pipeline.archive FOLDER`` writes it (about 160 MB, half a minute). Archives are bound
to the JVM and to Spark's jars; an archive that does not fit any more is ignored by the JVM.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

from pipeline.session import Session
from protocol.errors import JudgementError
from protocol.java import java, write_base_archive

_DUMP_TIMEOUT_S = 600


def archive_in(folder: Path) -> Path:
    """Where the archive for this Spark and this JVM lies in ``folder``, whether it exists or not.

    Raises ``PrerequisiteError`` when there is no JVM.
    """
    from importlib.util import find_spec

    spark = find_spec("pyspark")
    bound_to = [java(), Path(str(spark and spark.origin))]
    names = "".join(f"{path}{path.stat().st_mtime_ns}" for path in bound_to)
    return folder / f"spark-{hashlib.sha256(names.encode()).hexdigest()[:12]}.jsa"


def write_archive(folder: Path) -> Path:
    """Write the archive by running a session that notes every class it loads; return its path.

    Does nothing when it is there. Raises ``JudgementError`` when the JVM wrote none.
    """
    archive = archive_in(folder)
    if archive.exists():
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    write_base_archive()  # without it the JVM writes none
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        fresh = Path(scratch) / archive.name
        dumping = [f"-XX:ArchiveClassesAtExit={fresh}"]
        with Session(Path(scratch), java_options=dumping, stop_timeout_s=_DUMP_TIMEOUT_S) as session:
            session.wait()
        if not fresh.exists():
            raise JudgementError(f"the JVM wrote no archive of its classes for {archive}")
        fresh.replace(archive)
    return archive


if __name__ == "__main__":
    print(write_archive(Path(sys.argv[1])))
