"""Which reader a table needs. Another format is another reader and a row here."""

from ._csv_stream import CsvStream
from ._parquet_stream import ParquetStream

READERS = {".parquet": ParquetStream, ".pq": ParquetStream}


def open_stream(path, target):
    """Open a table by the ending of its name."""
    for ending, reader in READERS.items():
        if str(path).endswith(ending):
            return reader(path, target)
    return CsvStream(path, target)
