"""A class-data archive for Spark's JVM: written once, it takes some seconds off every start.

``python -m pipeline.archive FOLDER`` writes it (about 160 MB, half a minute). Archives are bound
to the JVM and to Spark's jars; one that does not fit any more is ignored by the JVM.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pipeline.session import Session
from protocol.errors import JudgementError


def archive_in(folder: Path) -> Path:
    """Where the archive for this Spark and this JVM lies in ``folder``, whether it exists or not."""
    import pyspark

    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else "java"
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    bound_to = f"{told}{pyspark.__file__}{pyspark.__version__}"
    return folder / f"spark-{hashlib.sha256(bound_to.encode()).hexdigest()[:12]}.jsa"


def write_archive(folder: Path) -> Path:
    """Write the archive by running a session that notes every class it loads; return its path.

    Does nothing when it is there. Raises ``JudgementError`` when the JVM wrote none.
    """
    archive = archive_in(folder)
    if archive.exists():
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        fresh = Path(scratch) / archive.name
        with Session(Path(scratch), java_options=f"-XX:ArchiveClassesAtExit={fresh}") as session:
            session.wait()
        if not fresh.exists():
            raise JudgementError(f"the JVM wrote no archive of its classes for {archive}")
        fresh.replace(archive)
    return archive


if __name__ == "__main__":
    print(write_archive(Path(sys.argv[1])))
