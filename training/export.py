"""Put a trained table into the package: table.bin, vocabulary, licence, notice and manifest.

    python training/export.py OUT/table_1.npz --results OUT/results.json --data .training/data.json

The format is described where it is read: src/forgelore/embedders/lore.py. The same table gives the same bytes.
"""

import argparse
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np

from forgelore.embedders.lore import DATA, MAGIC

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 12_000_000  # bytes
NOTICE = """\
This folder holds lore, a table of word vectors by the forgelore authors, under the Apache License 2.0 (see LICENSE).

It was distilled from all-MiniLM-L6-v2 by the sentence-transformers authors,
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (Apache License 2.0), whose vocabulary, vocab.txt, is
unchanged. docs/model-card.md of forgelore names the text it learned from; none of that text is in this folder.
"""


def main() -> None:
    options = _options()
    with np.load(options.table) as found:
        codes, scales = found["codes"], found["scales"]
    folder = Path(options.output)
    path = folder / "table.bin"
    path.write_bytes(build_table(codes, scales))
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    (folder / "NOTICE").write_text(NOTICE)
    manifest = build_manifest(path, folder, options)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    print(f"{path}: {path.stat().st_size:,} bytes, {manifest['table_sha256'][:12]}")


def build_table(codes: np.ndarray, scales: np.ndarray) -> bytes:
    rows, width = codes.shape
    header = MAGIC + rows.to_bytes(4, "little") + width.to_bytes(4, "little")
    data = header + scales.astype("<f4").tobytes() + np.ascontiguousarray(codes, dtype=np.int8).tobytes()
    if len(data) > LARGEST:
        raise ValueError(f"the table has {len(data):,} bytes, more than {LARGEST:,}")
    return data


def build_manifest(table: Path, folder: Path, options: argparse.Namespace) -> dict[str, object]:
    results, data = (json.loads(Path(path).read_text()) for path in (options.results, options.data))
    run = next(
        run for run in results["runs"] if run.get("fold") == "all" and run["seed"] == options.seed and "seconds" in run
    )
    return {
        "table_sha256": sha256(table),
        "vocab_sha256": sha256(folder / "vocab.txt"),
        "teacher": "all-MiniLM-L6-v2",
        "data": data,
        "recipe": results["recipes"][results["recipe"]],
        "tuning": results["tuning"],
        "versions": results["versions"],
        "seed": options.seed,
        "texts": run["texts"],
        "seconds_on_device": run["seconds"],
    }


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("table", help="table_SEED.npz of train.py")
    parser.add_argument("--results", required=True, help="results.json of train.py")
    parser.add_argument("--data", required=True, help="data.json of prepare.py")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default=DATA)
    return parser.parse_args()


if __name__ == "__main__":
    main()
