"""EXAMPLES: two or more example lines for every command, as shown in its help.

Conventions: keyed by the words of the command; a test parses each line with the command line.
"""

from __future__ import annotations

EXAMPLES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("collect",): (
        "faultscape collect study images/ --classes camvid --size 512x512",
        'faultscape collect study --remove "night/*" --dry-run',
    ),
    ("predict",): (
        "faultscape predict study unet=maps/unet/ fcn=fcn.onnx",
        "faultscape predict study b0=hf:OWNER/MODEL --scorer msp --measure",
    ),
    ("compare",): ("faultscape compare study", "faultscape compare study --shard 1/4"),
    ("scale",): (
        "faultscape scale train-masks/ --classes voc -o scale.json",
        'faultscape scale gtFine/train/ --classes cityscapes --pattern "{id}_gtFine_labelTrainIds.png"',
    ),
    ("select",): (
        "faultscape select study --scale scale.json",
        "faultscape select study --goal order --budget 100 --list",
    ),
    ("label", "export"): (
        "faultscape label export study to-label/",
        "faultscape label export study to-fix/ --format labelme --prefill unet",
    ),
    ("label", "import"): (
        "faultscape label import study to-label/",
        'faultscape label import study gtFine/val/ --pattern "{id}_gtFine_labelIds.png"',
    ),
    ("label", "check"): (
        "faultscape label check annotations.zip",
        "faultscape label check tasks.json --format label-studio",
    ),
    ("label", "serve"): (
        "faultscape label serve study",
        "faultscape label serve study --host 0.0.0.0 --overlap 3",
    ),
    ("label", "invite"): (
        'faultscape label invite study "Ann"',
        'faultscape label invite study "Ben" --organiser',
    ),
    ("label", "forget"): (
        'faultscape label forget study "Ann"',
        'faultscape label forget study "Ann" --answers',
    ),
    ("label", "answers"): (
        "faultscape label answers study answers.jsonl",
        "faultscape label answers study answers.jsonl --json",
    ),
    ("label", "consensus"): (
        "faultscape label consensus study --of labels-ann --of labels-ben",
        "faultscape label consensus study --of labels-ann --of labels-ben --tie skill",
    ),
    ("label", "remove"): (
        'faultscape label remove study "night/*" --dry-run',
        "faultscape label remove study photo-17 --discards",
    ),
    ("rank",): ("faultscape rank study", "faultscape rank study --selection order --where tag=night"),
    ("plan",): (
        "faultscape plan study",
        "faultscape plan study --cost mask=3600,choice=8 --wage 25 --within 2",
    ),
    ("measure",): (
        "faultscape measure truth/ unet=maps/unet fcn=maps/fcn --classes cityscapes",
        "faultscape measure masks/ --anomaly msp=scores/msp flow=scores/flow",
        "faultscape measure study --set fog-3",
    ),
    ("report",): ("faultscape report study", "faultscape report study --selection order --output order.html"),
    ("stress", "corrupt"): (
        "faultscape stress corrupt study --preset hendrycks15",
        "faultscape stress corrupt study --corruption fog --severities 1,3,5",
    ),
    ("stress", "blend"): (
        "faultscape stress blend study --preset fishyscapes-v2",
        "faultscape stress blend study --preset fs-static --objects cutouts/",
    ),
    ("stress", "holdout"): (
        "faultscape stress holdout study --classes bicyclist",
        "faultscape stress holdout study --remove s3-paper",
    ),
    ("stress", "fog"): (
        "faultscape stress fog study --depth depth/",
        "faultscape stress fog study --beta 0.01 --beta 0.03",
    ),
    ("stress", "sheet"): (
        "faultscape stress sheet study",
        "faultscape stress sheet study --set fog-3 --images 4",
    ),
    ("train",): (
        "faultscape train study plain --backbone segformer-b0 --epochs 50",
        "faultscape train study gp --init plain --head gp --epochs 10",
    ),
    ("fit",): (
        "faultscape fit study temperature --model unet --validation val",
        "faultscape fit study knn --model unet",
    ),
    ("reliability",): (
        "faultscape reliability study",
        "faultscape reliability study --models unet --reference fcn --output card/",
    ),
    ("run",): (
        "faultscape run study images/ unet=maps/unet/ fcn=maps/fcn/ --classes voc",
        "faultscape run study",
        "faultscape run study --goal failures",
    ),
    ("status",): ("faultscape status study", "faultscape status study --json"),
    ("show",): ("faultscape show study/corpus.parquet --rows 5", "faultscape show study --images"),
    ("view",): ("faultscape view study", "faultscape view study --port 9000"),
    ("demo",): ("faultscape demo demo-study", "faultscape demo small-study --scenes 40 --engine local"),
}
