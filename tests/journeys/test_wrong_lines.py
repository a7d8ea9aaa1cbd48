"""Lines that are refused: what a person typed, and what is said of it.

A row of the tables is ``line -> words``; ``...`` in the words is anything, ``^`` and ``$`` are where it begins and ends.
``{compared}`` in a line is a copy of the study that is compared: the name says how far the person is. Files and
folders that a line names lie in the folder in which it is typed (``LIE``). Of every row the law on form holds: one
line, status 2, what was typed is in it, it says how to go on, and all is as it was.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import faultscape as fs
import made
import made_answers
import made_training
from golden import STUDY, Goldens
from made_methods import fitted
from refusals import refused_text

WORDS = """
# verbs, options and words without a place
selct study -> unknown verb 'selct'. Did you mean 'select'? Available: collect, predict
import study labels.csv -> unknown verb 'import'. Did you mean 'label import'? Available:
exprot study -> unknown verb 'exprot'. Did you mean 'export'? Available:
zebra -> unknown verb 'zebra'. Available: collect, predict
label improt x -> unknown command 'label improt'. Did you mean 'import'? Available: export, import
--versoin -> there is no option --versoin. Did you mean '--version'?
--josn status study -> there is no option --josn. Did you mean '--json'?
completion bash -> Did you mean `faultscape --completion bash`?
run study --resamples 5 -> ^run has no option --resamples; rank, measure, reliability, rank-table have it; see `faultscape run --help`
run study --as order -> ^run has no option --as; select, stress holdout, fit have it; see
select study --conkordance x -> ^select has no option --conkordance. Did you mean '--concordance'? See `faultscape select --help`
select none --no-dry-run -> select has no option --no-dry-run. Did you mean '--dry-run'?
collect none --no-hyponyms -> collect has no option --no-hyponyms
select study --nonsense 1 -> ^select has no option --nonsense; see `faultscape select --help`
rank study -x -> ^rank has no option -x; see `faultscape rank --help`
predict -> ^predict: STUDY is missing; see `faultscape predict --help`$
scale masks -> ^scale: --classes is missing; see `faultscape scale --help`
label export s -> ^label export: OUT is missing; see `faultscape label export --help`
label import s -> label import: SOURCE is missing
predict s --keep -> predict: --keep needs a value
select s p2 p3 -> select: unexpected 'p2', 'p3'; to give several values, repeat the option
collect s --block 10.5 -> ^--block must be a whole number; got '10.5'$
collect s --block=10.0 -> ^--block must be a whole number; got '10.0'$
measure t --ignore 3 --ignore 2.5 -> ^--ignore must be a whole number; got '2.5'$
rank s --seed ten -> ^--seed must be a whole number; got 'ten'$
select s --temperature hot -> ^--temperature must be a number; got 'hot'$
predict s a=net.onnx --mean 0,0,0 -> ^--mean must be a number; got '0,0,0'; for several write --mean 0 --mean ...$
rank s --seed 1,2 -> ^--seed must be a whole number; got '1,2'$
select none --temperature 0.5 -> none is not a study
collect new photos --classes voc --size -5x10 -> ^collect: --size needs a value, and '-5x10' looks like an option; if it is the value, write --size=-5x10
collect new photos --size --classes voc -> ^collect: --size needs a value; see `faultscape collect --help`$
collect new . --classes voc --size=-5x10 -> size '-5x10' is invalid
show '' -> ^file is empty; give the name of a file or folder$
scale '' --classes voc -> ^masks is empty; give the name of a file or folder$
demo '' -> ^study is empty; give the name of a file or folder$
status ' ' -> ^study is empty; give the name of a file or folder$
show . -> is a folder but not a study; give a study, or a file of one
demo file.txt -> file.txt is a file; give a folder
"""

COLLECT = """
# collect: the first line, and class lists
predict new a=b -> new is not a study
plan new -> is not a study
collect new nowhere --classes {classes} -> no such folder or file
collect new nothing/ --classes {classes} -> no images found
collect new broken/ --classes {classes} -> cannot be used
collect nothing/ broken/ --classes {classes} -> cannot be used
collect new {photos} --classes camvit -> built in are ade20k, camvid, camvid32, cityscapes, ... Did you mean 'camvid'?
collect new {photos} -> needs its class list ... a .txt file with one class per line, or a JSON or TOML file ... ade20k, camvid, camvid32, cityscapes
collect new {photos} --classes {classes} --size big -> is invalid
collect {collected} {photos} --shard-size 7 -> the size cannot change
collect new twice/ --classes {classes} -> two files have the id 'one'
collect new a.png --classes ade20k -> the only file cannot be used:
collect new preds.npz --classes ids.txt --task classification -> preds.npz: contains no images; pass it to `faultscape predict` as NAME= ... for classifiers also a .csv file that names images
collect new preds.npy --classes ids.txt --task classification -> preds.npy: contains no images; pass it to `faultscape predict` as NAME=
collect new preds.tsv --classes ids.txt --task classification -> preds.tsv: contains no images; pass it to `faultscape predict` as NAME=
collect new preds.npy --classes ade20k -> preds.npy: contains no images; pass it to `faultscape predict` as NAME=
collect new preds.csv.gz --classes ids.txt --task classification -> preds.csv.gz: contains no images; pass it to `faultscape predict` as NAME=
collect new x.parquet --classes ids.txt --task classification -> has no image column, only image_id, label; expected ... ids without image files (for classifiers), give a .csv file with a column image
collect new {photos} --classes same-name.json -> two classes have the name 'a'
collect new {photos} --classes same-id.json -> two classes have the id 0
collect new {photos} --classes same-colour.json -> two classes have the colour
collect new {photos} --classes negative.json -> ids are whole numbers
collect new {photos} --classes red.json -> must be three numbers
collect new {photos} --classes no-class.json -> expected a list
collect new ids.csv --task classification --classes table.json -> expected a list `classes` of tables with name and id (and colour for label maps)
collect new ids.csv --task classification --classes truth.csv -> truth.csv: cannot be read as a class list: it is not JSON; expected a .txt file with one class per line, or a JSON or TOML file of classes
collect new ids.csv --task classification --classes empty.json -> empty.json: is empty; expected a .txt file
collect new ids.csv --task classification --classes blank.txt -> blank.txt: is empty; expected a .txt file
collect new ids.csv --task classification --classes cut.json -> it is not JSON (Expecting value: line 1 column 14 (char 13)); expected a .txt file
collect new ids.csv --task classification --classes cut.toml -> it is not TOML (
collect new ids.csv --task classification --classes noise.txt -> is not text in UTF-8; expected a .txt file
collect new ids.csv --task classification --classes imagenet1k --only-classes none.json -> none.json: cannot be read as a list of classes: there is no such file
collect {predicted} {m0}x -> Did you mean '{m0}'?
collect new x --layout mine --split s -> or file.py:NAME.
collect {collected} --remove 'nihgt/*' -> 'nihgt/*' names no image of the study
collect {collected} --remove blank.txt -> blank.txt: holds no image ids; expected one id per line
collect {collected} --remove '*' -> matches all 6 images of the study; keep at least one
collect {collected} photos --remove '*' -> --remove cannot be combined with images or settings
collect {collected} photos --replace-classes -> --replace-classes needs --classes
collect {collected} photos --dry-run -> --dry-run needs --remove
collect new ids.csv --classes {classes} -> lists of ids without files are for classifiers: add --task classification
collect {collected} ids.csv -> for classifiers: create a new study with --task classification
collect {answers} ids.csv --task segmentation -> is a classification study, and the task cannot change
collect {answers} ids.csv --size 64x64 -> --size applies to label maps only
collect new ids.csv --task sorting --classes voc -> task 'sorting' is not known
collect new {photos} --classes voc --only-classes ids.txt -> --only-classes applies to classifiers only
collect new {photos} --classes imagenet1k -> have no colours
collect s3://some/study {photos} --classes voc -> a study is a local folder; ... --store s3://BUCKET/PREFIX
status gs://some/study -> a study is a local folder; ... --store s3://BUCKET/PREFIX
"""

PREDICT = """
# predict, and run with models
predict {collected} unet -> is not NAME=SOURCE
predict {collected} -> for example unet=maps/unet
predict {answers} -> for example resnet=resnet.csv, resnet=all.csv:resnet50
predict {collected} a={m0} a={m1} -> two models are named 'a'
predict {collected} ../up={m0} -> cannot name a model
predict {collected} .hidden={m0} -> cannot name a model
predict {collected} 'a b={m0}' -> cannot name a model
predict {collected} a/b={m0} -> cannot name a model
predict {collected} a=missing -> no such folder or file
predict {predicted} m={m0}x -> there is no such folder or file. Did you mean '{m0}'?
predict {predicted} m={maps}x/model-0 -> there is no such folder or file. Did you mean '{m0}'?
run new {photos} m={m0}x --classes {classes} -> there is no such folder or file. Did you mean '{m0}'?
measure {truth} m={m0}x --classes 5 -> Did you mean '{m0}'?
predict {collected} j=jpegs/ -> contains 3 JPEG files and no label maps; JPEG changes class ids
predict {collected} j=nothing/ -> no label maps found; expected files ending in .bmp
predict {collected} q={m0} Q={m0} -> model 'Q' and model 'q' differ only in upper and lower case
predict {predicted} MODEL-0={m0} -> model 'MODEL-0' and model 'model-0' differ only
predict {predicted} --rename model-1=MODEL-0 -> model 'MODEL-0' and model 'model-0' differ only
predict {labelled} labels={m0} -> 'labels' is already the name of a truth
predict {twice} ann={m0} -> 'ann' is already the name of a truth
run {labelled} --classes nope -> classes 'nope' is neither a file nor a built-in class list
run {labelled} --size abc -> size 'abc' is invalid
run {labelled} --task classification -> classification
predict {answers} labels={table} -> 'labels' is already the name of a truth (a set of labels); give the model another, for example labels-model
predict {answers} x=semicolons.csv -> its columns seem to be separated by semicolons; save it with commas, and decimal points in numbers
predict {answers} x=two-columns.csv -> its columns seem to be separated by semicolons
predict {answers} x=headless.csv -> it has set0/000.png, cat, 0.9, its first line, which is read as the column names
predict {answers} x=wide.csv -> it has image, m0, m1, m2, m3, m4, m5, m6 and 5 more.$
predict {answers} x=wide.csv:m_11 -> Did you mean 'm11'?
predict {answers} x=p.npz:probabilitys -> has no array 'probabilitys'; it has probabilities (8, 5). Did you mean 'probabilities'?
predict {answers} x=torn.npz -> torn.npz: is not an NPZ file, or is truncated; write it again with numpy.savez
predict {answers} x=binary.csv -> binary.csv: is not text in UTF-8; save the table as CSV in UTF-8$
predict {answers} x=start.csv -> start.csv: is not text; save the table as CSV in UTF-8$
predict {collected} x=start.csv -> start.csv: is not text; expected a list of files, one per line$
predict {answers} d=ids.txt -> or a network for a classifier; got a list of files$
predict {answers} d=. -> or a network for a classifier; got a folder$
run new a={table} --task classification --classes c.txt -> new is not a study yet; name its images as well as the models: `faultscape run new IMAGES NAME=SOURCE ... --task classification --classes c.txt`
run new {photos} {m0} {m1} --classes {classes} -> if these are label maps, name the models: model-0={m0} model-1={m1}
run {predicted} {m0} -> name the models: model-0={m0}
run {photos} {predicted} m={m0} -> {predicted} is a study; the study comes first, then its images: did you mean
run {photos} new m={m0} -> new does not exist; the study comes first, then its images: did you mean
predict {labelled} --rename modle-1=new -> the study has no model 'modle-1'; it has model-0, model-1, model-2. Did you mean 'model-1'?
predict {labelled} --remove else -> the study has no model 'else'
predict {labelled} --rename model-1=model-2 -> the study has a model 'model-2' already
predict {labelled} --rename model-1=labels -> 'labels' is the name of a truth of this study
predict {labelled} --rename model-1=a --rename model-2=a -> two models would be named 'a'
predict {labelled} --rename model-1=a --rename model-1=b -> 'model-1' is given twice
predict {labelled} --remove model-1 --remove model-1 -> 'model-1' is given twice
predict {labelled} --rename model-1=a --remove model-1 -> 'model-1' cannot be both renamed and removed
predict {labelled} --rename model-1 -> is not OLD=NEW
predict {labelled} --rename model-1=../x -> cannot name a model
predict {labelled} --remove ../photos -> cannot name a model
predict {labelled} --rename model-1=a --shard 1/2 -> without --shard
predict {labelled} --remove model-0 more=nowhere -> there is no such folder or file
predict {collected} a=s3://b/maps -> copy it here first
predict {collected} new=no-such-file.onnx --engine ray:/host -> engine 'ray:/host' is not known
predict {collected} 'p=exec: ' -> name the command, for example exec:
"""

SELECT = """
# compare, select, plan
compare {collected} -> comparing needs two models
compare {one} -> comparing needs two models; the study has one
run {one} -> a comparison needs two models; the study has one (one): add another with `faultscape predict ... `faultscape measure {one}`
plan {collected} -> a plan needs two models; the study has none
plan {predicted} -> run `faultscape compare
compare {predicted} --engine spark -> engine 'spark' is not known
select {predicted} -> run `faultscape compare {predicted}`
select {compared} --concordance moiu -> Did you mean 'miou'
select {compared} --constraints class+scale -> need the quartiles
select {compared} --scale none.json -> none.json: cannot be read as a scale file: there is no such file; `faultscape scale` writes one
select {selected} --per-class 0 -> per-class must be at least 1
select {selected} --concordance fwiou -> its definition is fixed
select {selected} --as Main -> selection 'Main' and selection 'main' differ only
select {selected} --as '' -> --as is empty; give a value
select {compared} --selector random --top 3 -> --top does not apply to --selector random; available options: --budget
select {compared} --budget 3 -> --budget is for selectors that draw for all models at once; --selector mad takes the top images of each pair, --per-class of them. Give --temperature 1
select {compared} --distance 01 -> --distance does not apply to duels of segmentation models
select {compared} --selector entrpy -> selector 'entrpy' is not known; ... Did you mean 'entropy'
select {compared} --selector random --temperature 1 -> --temperature does not apply to --selector random; available options: --budget, --more, --seed, --keep-duplicates, --concordance, --over$
select {compared} --temperature 0 --as cold -> the temperature must be a number above 0
select {compared} --selector random --seed -1 --as x -> seed must be 0 or more; got -1
select {compared} --selector random --budget 3 --more 4 -> --budget is the total number of images, --more how many to add
select {compared} --selector random --budget 0 -> --budget must be 1 to 1,000,000 images; got 0
select {compared} --selector random --truth labels -> --truth does not apply to --selector random; available options: --budget
select {compared} --selector disputed --concordance iou --as x -> concordance 'iou' is not known
select {compared} --selector random --as none-yet --more 2 -> there is no selection 'none-yet' to draw more of
select {drawn} --more 1 -> --more adds to images drawn for all models at once; say to which: --as order
select {drawn} --as ordre --more 10 -> no selection 'ordre' ... Did you mean 'order'?
select {drawn} --as order --seed 7 --more 1 -> was drawn with seed 0, not 7
select {answers} --goal best --selector mad -> --goal best chooses the selector; use --goal or --selector mad, not both
select {answers} --goal worst -> goal 'worst' is not known; use order, best
select {answers} --goal order --temperature 1 -> --temperature does not apply to --selector information; available options: --budget
run {answers} --goal bets -> goal 'bets' is not known; use order, best, failures. Did you mean 'best'?
run {answers} --goal best --top 3 -> --top is for --goal failures; --goal best draws images for all models at once
select {answers} --top 0 -> ^top must be at least 1; got 0$
select {answers} --cap 0 -> ^cap must be at least 1; got 0$
select {answers} --spares -1 -> ^spares must be at least 0; got -1$
select {answers} --distance truth.csv -> has no class 'cat'. A file of distances names every class of the study: in its first row and its first column
select {answers} --distance 01 --hierarchy above.csv -> leave it out, or use --distance wordnet, path, hops
select {answers} --distance far.csv --hierarchy above.csv -> leave it out, or use --distance wordnet, path, hops
select {selected} --remove main --per-class 2 -> --remove deletes a selection, and --per-class sets how to make one
select {selected} --selector random --as random --more 2 --replace -> --more adds to a selection, and --replace starts over
select {selected} --remove mian -> there is no selection 'mian' to remove; available: main. Did you mean 'main'?
select {selected} --replace --per-class 0 -> per-class must be at least 1
select {selected} --replace --per-class 0 --dry-run -> per-class must be at least 1
select {selected} --replace --scale none.json --dry-run -> none.json: cannot be read as a scale file
select {selected} --replace --concordance nope --dry-run -> concordance 'nope' is not known
select {selected} --replace --concordance nope -> concordance 'nope' is not known
select {answers} --points 10 -> points are pixels of label maps, which a study of classifiers has not: use --goal order
select {compared} --points 0 -> --points must be 1 to 100,000 points; got 0
select {compared} --points 10 --more 3 -> --points is the total number of points, --more how many to add; give one of them
select {compared} --points 10 --budget 3 -> --budget does not apply to --selector points; available options: --points, --goal
select {compared} --points 10 --concordance fwiou -> --concordance does not apply to --selector points
select {compared} --points 10 --border -1 -> --border must be 0 to 100 pixels; got -1
select {compared} --points 10 --goal value -> goal 'value' is not known; use order, best, values. Did you mean 'values'?
select {compared} --points 10 --selector vma -> --points does not apply to --selector vma; available options: --budget
select {compared} --goal values -> --goal values is for points; add --points N
select {compared} --selector random --border 2 -> --border does not apply to --selector random
select {compared} --as none-yet --more 2 --selector points -> there is no selection 'none-yet' to draw more of; make it with --points 2
select {pointed} --points 20 --border 1 -> selection 'points' was drawn with border 0, not 1; its definition is fixed
select {drawn} --points 20 --as order -> selection 'order' was drawn by information, not by points
plan {answers} --goal values -> goal 'values' is not known; use order, best
plan {answers} --goal bets -> goal 'bets' is not known; use order, best. Did you mean 'best'?
plan {selected} --cost masks=3 -> --cost knows mask, choice, question, point, box, in seconds, such as mask=5400,choice=10; got 'masks'. Did you mean 'mask'?
plan {selected} --cost mask=much -> --cost mask must be a number of seconds, 0 or more; got 'much'
plan {selected} --cost question=-1 -> --cost question must be a number of seconds, 0 or more; got
plan {selected} --cost mask -> --cost mask must be a number of seconds
plan {selected} --cost box=7,mask=3,box=8 -> --cost names box twice; give each kind of work once
plan {selected} --wage=-2 -> --wage must be a cost per hour, 0 or more; got -2
plan {selected} --wage nan -> --wage must be a cost per hour
plan {selected} --within 0 -> --within must be above 0 and at most 100 points; got 0
plan {selected} --seed -1 -> seed must be 0 or more
"""

LABEL = """
# label, rank, report, show
label export {compared} out -> make one with
label export {selected} out --format bmp -> format 'bmp'
label export {answers} out --format png -> --format png does not fit a study of classifiers; use csv
label export {selected} out --done -> there are no labels yet
label export {selected} masks.csv -> images and masks (--format png or labelme) need a folder, for example
label export {selected} out --again -> --again applies to questions about classes
label export {selected} out --truth nope -> there is no truth 'nope'; there are no labels yet. Remove --truth
label export {labelled} out --truth lables -> no truth 'lables'; available: labels. Did you mean 'labels'?
label export {asked} {table} -> already exists and is not a table of questions; give another file
label export {selected} out --done --format labelme -> --done writes masks, one file an image; ... png, png-index, png-colours
label export {selected} out --done --prefill model-1 -> --prefill is about images to label; --done writes every
label export {selected} out --done --again -> --again is about images to label; --done writes every
label export {selected} out --done --selection order -> --selection is about images to label; --done writes every
label export {selected} out --format cvat-masks --prefill model-1 --outlines -> --outlines needs --prefill and a format with polygons (labelme, cvat, label-studio
label import {selected} none/ -> no such file or folder
label import {selected} {selected} -> is a study, not labels; give a folder of masks or LabelMe files
label import {selected} truth.csv -> truth.csv: is a table, but the labels of this study are label maps; give a folder
label import {selected} s3://b/labels -> read from local folders only; copy them to this machine first
label import {answers} {answers} -> is a study, not labels; give a CSV file of labels
label import {answers} nothing/ -> contains no CSV file; give a CSV file of labels
label import {answers} predicted.csv -> has no column `label`; name the one with the labels as predicted.csv:COLUMN
label import {answers} nobody.csv -> has no column `label`; name the one with the labels
label import {answers} odd.csv -> expected the columns image, label, or ... it has bild, what
label import {answers} noise.csv -> noise.csv: cannot be read as text in UTF-8; save the table as CSV in UTF-8
label import {labelled} {truth} --truth Labels -> truth 'Labels' and truth 'labels' differ only
label import {selected} discard.csv --labels 255=void -> --labels applies to labels; ... discard.csv holds discards
label import {selected} discard.csv -> 'nope' is not an image of the study
label export {pointed} out --selection points --format png -> selection 'points' asks about points, with --format points, cvat or label-studio; --format png does not fit it
label export {selected} out --format points -> selection 'main' asks for labels of images; --format points does not fit it
label export {answers} out --format points -> --format points does not fit a study of classifiers; use csv
label export {pointed} out --prefill model-1 -> --prefill applies to masks only; points are never pre-filled
label import {pointed} points-nowhere.csv -> 'nope' is not an image of the study
label import {pointed} points-outside.csv -> row 36, column 0 lies outside of 'part0/photo 000', which has 36 rows and 48 columns
label import {pointed} points-odd.csv -> expected a row and a column, from 0; got '-1' and 'x'
label import {pointed} points-blank.csv -> no answer could be used; no point is answered
label import {selected} points-undrawn.csv -> row 1, column 2 of 'part0/photo 000' was not drawn: no selection has it
label import {pointed} discard.csv --format points -> is not a table of points, which needs the columns image, row, column, answer
rank {pointed} -> there are no labels yet
report {pointed} --better 0.3 -> --better needs chosen images, and selection 'points' asks about points; leave it out
measure {pointed} --selection points -> there are no labels yet
measure {pointed} --selection points --worst 5 -> --worst is about maps and scores of images, and selection 'points' asks about points
measure {pointed} --selection points --set fog-3 -> --set is about maps and scores of images
measure {pointed} --selection points --shard 1/2 -> --shard is about maps and scores of images
measure {pointed} m={m0} --selection points -> is a study: it holds its models; measure --selection points without others
measure {pointed} --selection nope -> there is no selection 'nope'
measure {drawn} --selection order -> selection 'order' chooses images, and measure counts every image with a mask
measure {answers} --selection main -> measure is for label maps; for classifiers run
measure {truth} m={m0} --classes {classes} --selection points -> --selection names one of a study, but
label check notes.txt -> not recognised as a labelling tool's format (labelme, cvat,
label check nothing.json -> nothing.json: no such file or folder
label check notes.txt --format csv -> --format csv: this format cannot be checked
label remove {labelled} -> give one of: ids of images, --selection NAME, or --all
label remove {labelled} --all --by ann -> nothing to take back: none of
label remove {answers} --all --discards --by ann -> --discards cannot be combined with --truth
label remove {labelled} '' -> images is empty; give a value, or remove it
rank {selected} -> there are no labels yet
rank {labelled} --selection mian -> Did you mean 'main'?
rank {labelled} --benchmark none.json -> none.json: expected lines of model,score: there is no such file
rank {labelled} --against main -> --against main is the selection being ranked; name another
rank {labelled} --population future -> draw some at random with `faultscape select {labelled} --goal order --budget N`
report {answered} --bands 0.5 -> --bands need values of label maps
report {answered} --better 0.1 -> --better needs duels of label maps; answers of classifiers are right or wrong
label export {labelled} out --overlap 3 -> --overlap needs --annotators, for example
label export {labelled} out --annotators ann --overlap 2 -> --overlap 2: ... 1 to 1
label export {labelled} out --annotators ann,ann -> each named once
label export {labelled} out --annotators ann,Ann -> differ only in upper and lower case
label export {labelled} out --annotators ../x,ben -> cannot name a person
label export {labelled} out --annotators a/b,ben -> cannot name a person
label export {labelled} out --annotators ' ' -> --annotators is empty
label export {labelled} out --annotators , -> expected names, for example
label export {labelled} out --annotators a,b --session 0 -> --session must be 1 to 10,000 images; got 0
label export {labelled} out --annotators a,b --training -1 -> --training must be 0 to 10,000 images; got -1
label export {labelled} out --annotators a,b --prefill nobody -> no such model
label export {labelled} out --annotators a,b --outlines -> --outlines
label consensus {labelled} --of labels -> give two or more annotators with --of
label consensus {labelled} --of labels --of labels -> give two or more annotators
label consensus {labelled} --of labels --of nobody -> there is no truth 'nobody'; there are
label consensus {twice} --of labels --of ann --truth ann -> --truth ann is one of the annotators
label consensus {twice} --of labels --of ann --truth model-1 -> is the name of a model
label consensus {twice} --of labels --of ann --truth ../x -> cannot name a truth
label consensus {twice} --of labels --of ann --tie coin -> --tie 'coin' is not known; use void or skill
label consensus {twice} --of labels --of ann --truth new --least 0 -> --least must be 1 or more people; got 0
view {labelled} --port 70000 -> --port 70000: expected a port from 0 (any free port) to 65535
view {labelled} --host 'no such host' -> --host no such host: not an address of this machine
view {labelled} --host 192.0.2.1 -> --host 192.0.2.1 --port 8750:
"""

MEASURE = """
# measure
measure -> nothing to measure
measure nowhere a=b --classes 3 -> there is no such folder
measure {truth} --classes {classes} -> no model given
measure {truth} m={m0} -> give --classes
measure {truth} m={m0} --classes vox -> built in are
measure {truth} m=nowhere --classes {classes} -> no such folder
measure {truth} m={m0} m={m0} --classes {classes} -> is given twice
measure {truth} {m0} --classes {classes} -> is not NAME=FOLDER
measure m={m0} --classes {classes} -> is in the place of the truth
measure {truth} m={m0} --classes 2 -> holds the value
measure {truth} m={m0} --classes {classes} --preset keras -> Did you mean 'keras200'?
measure {truth} m={m0} --classes {classes} --void drop -> void 'drop' is not known; use cut, bridge
measure {truth} m={m0} --classes {classes} --confidence n={m0} -> no model has this name
measure {truth} --anomaly a={m0} --confidence a={m0} -> no model has this name
measure {truth} m={m0} --classes {classes} --truth x -> is not a study
measure {truth} m={m0} --regions given --doubt m={m0} -> --doubt needs classes
measure {truth} m=x.onnx --classes {classes} -> measure takes folders
measure {truth} m={m0} --classes {classes} --resamples -1 -> 0 or more
measure {truth} ../m={m0} --classes {classes} -> cannot name
measure {truth} B={m0} b={m0} --classes {classes} -> model 'b' and model 'B' differ only
measure {truth} m={m0} --classes {classes} --bins 100000 -> bins are 1 to 4096; got 100000$
measure {truth} m={m0} --classes {classes} --window 0 -> window is 1 or more; got 0$
measure {truth} m={m0} --classes {classes} --band 0 -> band is above 0; got 0.0$
measure {truth} m={m0} --classes {classes} --tolerance -1 -> tolerance is 0 or more; got -1.0$
measure {truth} m={m0} --classes {classes} --certain nan -> certain is a finite number
measure {truth} m={m0} --classes {classes} --accurate inf -> accurate is a finite number
measure {truth} m={m0} --classes {classes} --tolerance nan -> tolerance is a finite number
measure {truth} m={m0} --classes {classes} --seed -1 -> seed must be a whole number, 0 or more
measure {truth} m={m0} --classes {classes} --score-scale 0 -> above 0; got 0
measure {truth} m={m0} --classes {classes} --score-scale -5 -> above 0; got -5
measure {truth} m={m0} --classes {classes} --score-scale inf -> above 0; got inf
measure {truth} m={m0} --regions given --divisor 0 -> 1 or more; got 0
measure {truth} m={m0} --regions given --divisor -3 -> 1 or more; got -3
measure --datasets list.toml --classes 3 -> in its tables
measure --datasets list.toml --truth x -> in its tables
measure --datasets list.toml --images x -> in its tables
measure --datasets list.toml --anomaly m=x -> in its tables
measure --datasets list.toml --confidence m=x -> in its tables
measure --datasets nowhere.toml -> No such file
measure --datasets number.toml -> one table for each data set
measure --datasets truht.toml -> Did you mean 'truth'?
measure --datasets lacks.toml -> give truth
measure --datasets path.toml -> expected a path
measure --datasets models.toml -> NAME = FOLDER
measure --datasets cut.toml -> is not TOML
measure --datasets list.toml -> list.toml, [a]: ... here is not a study
measure {answers} resnet -> measure is for label maps; for classifiers run `faultscape rank
measure {selected} -> there are no labels yet
measure {labelled} --truth label -> available: labels. Did you mean 'labels'?
measure {labelled} x={m0} -> is a study
measure {labelled} --holdout none -> none
measure {labelled} --block 2 -> `faultscape collect {labelled} --block N`
measure {truth} m={m0} --classes {classes} --metric cldise -> metric 'cldise' is not known; known are cldice, instance_pq, mask_ap, recall_large
measure {truth} m={m0} --classes {classes} --metric miou -> --metric miou: it is always computed; leave it out
measure {truth} m={m0} --classes {classes} --metric miou2 -> file.py:NAME
measure {truth} m={m0} --classes {classes} --metric instance_pqq -> Did you mean 'instance_pq'
measure {truth} m={m0} --classes {classes} --metric instance_pq -> --metric instance_pq needs a study
reliability {labelled} --ood-data COCO -> --ood-data is for submissions; give the program too, with --submission exec:COMMAND
reliability {labelled} --submission ./segment -> --submission ./segment: is not exec:COMMAND
reliability {labelled} --submission exec:true --claims a:0.5 -> --claims a:0.5: is not SET:AP:FPR95
reliability {labelled} --submission exec:true --claims a:81:0.12 -> AP and FPR95 must be between 0 and 1
reliability {labelled} --submission exec:true --claims a:0.81:12 -> AP and FPR95 must be between 0 and 1
reliability {labelled} --submission exec:true --claims a:0:1 --claims a:0:0 -> a is claimed twice
reliability {collected} -> the study has no model
reliability {predicted} -> has no labelled images, stress sets or anomaly labels
predict {predicted} model-0={m0} --scorer msp -> --scorer needs a network's logits, and this is a folder
"""

STRESS = """
# stress
stress corrupt {labelled} --corruption contrast --severities 1 --truth labels -> give both
stress corrupt {labelled} --corruption contrast --severities 1 --engine foo -> engine 'foo' is not known
stress corrupt {labelled} --corruption contrast --severities 1 --workers 0 -> workers must be 1 or more; got 0
stress corrupt {labelled} --corruption contrast --severities 1 --seed -1 -> --seed must be a whole number, 0 or more
stress corrupt {labelled} --corruption contrast --severities 1 --write {classes} -> is a file; give a new or an empty folder
stress corrupt {labelled} --corruption mine.py -> or file.py:NAME.
stress corrupt {labelled} --write {photos} -> has files (part0, ...) and no .made.json, the mark of `faultscape stress`; give a new or an empty folder
stress corrupt {labelled} --write {labelled}/stress -> is inside the study
stress fog {labelled} --engine foo -> engine 'foo' is not known
stress fog {labelled} --depth none -> ^--depth none: no such folder
stress fog {labelled} --depth {truth} -> has no 16 bits; expected depth as a 16-bit grey PNG of metres times 256
stress fog {labelled} --depth others/ -> ^--depth others/: none of its
stress fog {labelled} --write {photos} -> and no .made.json, the mark of `faultscape stress`; give a new or an empty folder
stress fog {labelled} --write {labelled}/stress -> is inside the study
stress blend {labelled} --preset fishyscapes-v2 --smallest 20 --known main -> --known has no effect: fishyscapes-v2 blends no known objects
stress blend {labelled} --preset fishyscapes-v2 --smallest 20 --depth {truth} -> add --fog 0.2
stress blend {labelled} --preset fishyscapes-v2 --smallest 20 --fog 0 --depth {truth} -> add --fog 0.2
stress blend {labelled} --preset fishyscapes-v2 --smallest 20 --review --write x -> leave out --write
stress blend {labelled} --preset fishyscapes-v3 --known mian -> --known mian: no set of this name was collected; there is main. Did you mean 'main'?
stress blend {labelled} --preset fishyscapes-v2 --ego rood -> not a mask file, a class of the study
stress blend {labelled} --preset fishyscapes-v2 --write {photos} -> and no .made.json, the mark of `faultscape stress`; give a new or an empty folder
stress blend {labelled} --preset fishyscapes-v2 --write {labelled}/stress -> is inside the study
stress holdout {labelled} -> give the classes to hold out
stress holdout {labelled} --classes car --truth labels -> --truth names the labels that --write writes; give both
stress holdout {labelled} --classes car --preset s3-paper -> with either --classes a,b or --preset
stress holdout {labelled} --classes care -> Did you mean 'car'
stress holdout {labelled} --preset s3-paper -> which is not a class of the study
stress holdout {labelled} --classes sky,road,car,person,tree -> keep one or more
stress holdout {labelled} --classes car --as ../x -> cannot name a holdout
stress holdout {labelled} --remove holdout -> no holdout 'holdout'; there is none
stress holdout {labelled} --remove holdout --classes car -> --remove only removes a holdout
stress holdout {labelled} --classes car --write {photos} -> and no .made.json, the mark of `faultscape stress`; give a new or an empty folder
stress holdout {labelled} --classes car --write {labelled}/stress -> is inside the study
stress corrupt {labelled} --severities 0-3 -> severities are 1 to 5
stress corrupt {labelled} --severities 6 -> severities are 1 to 5
stress corrupt {labelled} --preset hendricks15 -> Did you mean 'hendrycks15'
stress corrupt {labelled} --corruption fogg -> Did you mean 'fog'
stress corrupt {labelled} --set mian -> Did you mean 'main'
stress corrupt {labelled} --preset s3-data --corruption fog -> give one of the two
stress corrupt {labelled} --frost-textures nowhere --corruption frost -> expected a folder of textures
stress corrupt {labelled} --frost-textures {photos}/part0 --corruption fog -> frost-textures needs the frost corruption
stress corrupt none -> no study
stress corupt {labelled} -> unknown command 'stress corupt'. Did you mean 'corrupt'
stress fog {labelled} --light=-1 -> a gray level from 0 to 255
stress fog {labelled} --light 256 -> a gray level
stress fog {labelled} --beta 0 -> above 0
stress fog {labelled} --beta 1.5 -> at most 1
"""

TRAIN = """
# train
train {plain} net -> name a network to train: --backbone NAME, or --init NETWORK
train {plain} net --backbone segformer-b9 -> backbone 'segformer-b9' is not known; ... Did you mean 'segformer-b
train {plain} net --init plan -> --init plan: the study has no trained network with this name; it has plain; train it first, or start from another. Did you mean 'plain'?
train {plain} net --backbone {own} --head-option features=3 -> head linear has no option 'features'; it has no options
train {plain} net --backbone {own} --set trian -> --set 'trian': the study has no such set; it has main, train, val. Did you mean 'train'?
train {plain} net --backbone {own} --set val --validation val -> 3 images would be in both training and validation
train {plain} net --backbone {own} --withhold bikes -> the study has no holdout 'bikes'; it has cars
train {plain} net --init plain --backbone {own} --withhold none -> has 3 classes, but 4 are to be learnt (also car); --withhold says which holdout is withheld
train {plain} net --backbone {own} --seed 100000000000000000000 -> --seed must be a whole number from 0 to 4294967295; got 100000000000000000000
train {plain} net --backbone {own} --steps 0 -> --steps must be 1 or more; got 0
train {plain} labels --backbone {own} -> 'labels' is already the name of a truth (a set of labels)
train {plain} plain --init plain --backbone {own} -> --init plain: a network cannot start from itself
train {plain} net --backbone {own} --steps 3 --epochs 2 -> give either --steps or --epochs, not both
train {plain} net --backbone {own} --head gp --preset camvid-small -> --preset camvid-small starts this head from a trained linear network: name it with --init, or use --from-scratch to train everything
train {plain} net --backbone headless.py:net -> Sequential: has no linear layer or 1x1 convolution as a classifier
train {plain} net --backbone nowhere.py:net -> backbone nowhere.py:net: there is no file nowhere.py
train {plain} net --backbone {own} --from-scratch -> --from-scratch is for presets that start heads from a trained network
train {plain} net --backbone {own} --device cpu --precision fp16 -> --precision fp16 needs a GPU; use bf16 or no on a CPU
train {plain} net --backbone segmenter-T/16 --crop 24x16 --steps 1 -> --crop 24x16: both sides must be multiples of 16 for segmenter-T/16
train {plain} net --backbone segmenter-T/16 --head-option member_blocks=2 --crop 16x16 -> --head-option member-blocks needs a Segmenter and --head batch-ensemble; got segmenter-T/16 and linear: leave it out
train {plain} net --backbone {own} --head batch-ensemble --head-option member_blocks=2 -> --head-option member-blocks needs a Segmenter and --head batch-ensemble; got net.py:net and batch-ensemble: leave it out
train {plain} net --init plain --backbone {own} --head batch-ensemble --sweep members=3,0 -> head batch-ensemble: members is a whole number, 1 or more; got 0
train {plain} net --init plain --backbone {own} --head gp --sweep scaled=true,maybe -> --sweep scaled must be true or false; got 'maybe'
train {plain} net --init plain --backbone {own} --dropout-at nowhere --steps 1 -> has no layer
"""

FIT = """
# fit, and methods that were fitted
predict {plain} plain={source} --scorer knn -> --scorer knn is a method that was not fitted to plain; run `faultscape fit {plain} knn --model plain` first
predict {fitted} plain={source} --scorer knn-k-5 -> --scorer knn-k-5 is a method that was not fitted to plain; plain has knn. Did you mean 'knn'?
predict {fitted} plain={source} --scorer knn --input-size 64x48 -> its method knn was fitted with no options, but the model now uses
predict {fitted} plain={source} --scorer knn --scales 0.5 --scales 1 -> its method knn was fitted with no options, but the model now uses
fit {plain} knn --model plain --per-class -> --per-class has no effect on method knn; leave it out
fit {plain} temperature --model plain --k 3 -> --k has no effect on method temperature; leave it out
fit {plain} mahalanobis --model plain --k 3 -> method mahalanobis has no option 'k'; it has shrink
fit {plain} kn --model plain -> METHOD 'kn' is not known
fit {plain} knn --model plan -> the study has no model 'plan'; it has plain ... Did you mean 'plain'?
fit {plain} knn --model plan --set nowhere -> the study has no model 'plan'
fit {plain} knn --model plain --sweep k=1,2 --k 3 -> --k and --sweep k=1,2 set the same option; leave one out
fit {plain} knn --model plain --sweep j=1,2 -> --sweep 'j=1,2' is not valid; use OPTION=A,B,C of method knn, which has k, printed
fit {plain} knn --model plain --as knn-mine --sweep k=1,2 -> give either --as or --sweep, which names its methods itself
fit {plain} knn --model plain --as knn -> --as 'knn': expected knn-NAME, and not the name of a method
fit {plain} knn --model plain --as knn- -> --as 'knn-': expected knn-NAME, and not the name of a method
fit {plain} knn --model plain --as knn-class -> --as 'knn-class': expected knn-NAME, and not the name of a method
fit {plain} knn --model plain --as knn-class-mine -> --as 'knn-class-mine': expected knn-NAME, and not the name of a method
fit {plain} knn --model plain --as flow-wide -> --as 'flow-wide': expected knn-NAME, and not the name of a method
fit {plain} odin --model plain --images 3 -> --images has no effect on method odin; leave it out
fit {plain} temperature --model plain --images 3 -> --images has no effect on method temperature; leave it out
fit {plain} temperature --model plain --preset s4 -> --preset has no effect on method temperature; leave it out
fit {plain} flow --model plain --preset s5 -> preset 's5' is not known; use s4
fit {plain} knn --model plain --layer mixx -> has no layer 'mixx'. Did you mean 'mix'?
fit {plain} knn --model plain --layer mix --layer body -> method knn uses one layer; got mix, body
fit {plain} odin --model plain --layer mix -> method odin uses only logits; leave --layer and --select-layer out
fit {plain} knn --model mine= -> --model: expected NAME, or NAME=SOURCE; got 'mine='
"""

EXPORT = """
# export
export none out -> ^none is not a study
export {labelled} out --format hff -> ^--format 'hff' is not known; use parquet, hf ... Did you mean 'hf'?
export {labelled} {photos} -> is not empty (part0, ...); give a new or an empty folder
export {labelled} {classes} -> is a file; give a new or an empty folder
export {labelled} {labelled} -> is inside the study; give a folder outside it
export {labelled} {labelled}/predictions/out -> is inside the study; give a folder outside it
export {labelled} s3://bucket/out -> export writes to a local folder; copy that to the store afterwards
export {labelled} out --selection mian -> there is no selection 'mian'
export {labelled} out --truth ann -> there is no truth 'ann'; available: labels
export {labelled} out --format hf --image-files link -> ^--image-files link does not fit --format hf, which holds the images in its files; use copy or none
export {labelled} out --image-files move -> image-files 'move' is not known; use copy, link, none
export {labelled} out --format model-card -> nothing is measured yet; run `faultscape measure
export {compared} out --format model-card -> nothing is measured yet; run `faultscape label import
export {labelled} out --format model-card --all-images -> ^--all-images does not apply to --format model-card, which holds no images; leave it out
export {labelled} out --format every-eval-ever -> nothing is measured yet; run `faultscape measure
export {labelled} out --format every-eval-ever --image-files copy -> ^--image-files copy does not fit --format every-eval-ever, which holds no images; use none
export {answers} out --format coco -> ^--format coco is of label maps, and this study is of classifiers; use parquet, hf
export {compared} out -> ^no images are chosen yet; add --all-images to write all, or choose some with `faultscape select
export {collected} out --all-images -> has neither models nor labels to export; add some with `faultscape predict
export {answers} out --all-images -> of 8 images the study has only the id (first: set0/000); leave images out with --image-files none
"""


def rows(table: str) -> list[tuple[str, str]]:
    """The lines of a table, and what each is told."""
    lines = [line.partition(" -> ") for line in table.splitlines() if not line.startswith("# ")]
    return [(line, says) for line, arrow, says in lines if arrow]


TABLES = (WORDS, COLLECT, PREDICT, SELECT, LABEL, MEASURE, STRESS, TRAIN, FIT, EXPORT)
ROWS = [row for table in TABLES for row in rows(table)]

ENTRIES = {
    "same-name.json": [("a", 0, "#000001"), ("a", 1, "#000002")],
    "same-id.json": [("a", 0, "#000001"), ("b", 0, "#000002")],
    "same-colour.json": [("a", 0, "#000001"), ("b", 1, "#000001")],
    "negative.json": [("a", -1, "#000001")],
    "red.json": [("a", 0, "red")],
    "no-class.json": [],
}
NAMES = made_answers.NAMES
LIE: dict[str, str | bytes | Callable[[Path], object]] = {
    **{
        name: json.dumps({"classes": [{"name": n, "id": i, "colour": c} for n, i, c in entries]})
        for name, entries in ENTRIES.items()
    },
    "above.csv": "".join(f"{name},thing\n" for name in NAMES),
    "a.png": b"nothing",
    "binary.csv": np.random.default_rng(0).integers(0, 256, 3000, np.uint8).tobytes(),
    "blank.txt": " \n",
    "broken/": lambda folder: (folder / "x.png").write_bytes(b"no picture"),
    "cut.json": '{"classes": [',
    "cut.toml": "classes = [",
    "discard.csv": "image,reason\nnope,blurred\n",
    "empty.json": "",
    "far.csv": "\n".join(
        ",".join(row) for row in [("", *NAMES), *((a, *(str(int(a != b)) for b in NAMES)) for a in NAMES)]
    ),
    "file.txt": "",
    "headless.csv": "set0/000.png,cat,0.9\nset1/001.png,dog,0.8\n",
    "headless.py": "import torch\ndef net():\n    return torch.nn.Sequential(torch.nn.ReLU())\n",
    "ids.csv": "image\np1\n",
    "ids.txt": "cat\ndog\n",
    "jpegs/": lambda folder: [
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder / f"map {k}.jpg") for k in range(3)
    ],
    "lacks.toml": "[a]\nclasses = 3",
    "list.toml": "[a]\nstudy = 'here'",
    "models.toml": "[a]\ntruth = 'x'\nmodels = 'y'",
    "noise.csv": b"\x89PNG\xff\xfe",
    "noise.txt": b"\xff\xfe\x00cat",
    "nobody.csv": "image,class,answer\nset0/000,cat,no\n",
    "notes.txt": "hello",
    "nothing/": lambda _: None,
    "number.toml": "truth = 3",
    "odd.csv": "bild,what\nx,cat\n",
    "others/": lambda folder: made.write(folder / "other.png", np.zeros((4, 4), np.uint16)),
    "p.npz": lambda path: np.savez(path, probabilities=np.ones((8, 5)) / 5),
    "path.toml": "[a]\ntruth = 3\n",
    "points-blank.csv": "image,row,column,answer\npart0/photo 000,1,2,\n",
    "points-nowhere.csv": "image,row,column,answer\nnope,1,2,car\n",
    "points-odd.csv": "image,row,column,answer\npart0/photo 000,-1,x,car\n",
    "points-outside.csv": "image,row,column,answer\npart0/photo 000,36,0,car\n",
    "points-undrawn.csv": "image,row,column,answer\npart0/photo 000,1,2,car\n",
    "predicted.csv": "filename,prediction,score\nset0/000,cat,0.9\n",
    "preds.csv.gz": b"anything",
    "preds.npy": b"anything",
    "preds.npz": b"anything",
    "preds.tsv": b"anything",
    "semicolons.csv": "filename;label;score\nset0/000;cat;0,9\n",
    "start.csv": b"image,label\n\0\0,,,\n",
    "table.json": '{"classes": {}}',
    "torn.npz": lambda path: (np.savez(path, said=np.zeros(8)), path.write_bytes(path.read_bytes()[:-30])),
    "truht.toml": "[a]\ntruht = 'x'",
    "truth.csv": "image,label\np1,cat\n",
    "twice/": lambda folder: [
        made.write(folder / f"one.{ending}", np.zeros((4, 4, 3), np.uint8)) for ending in ("png", "bmp")
    ],
    "two-columns.csv": "filename;label\nset0/000;cat\n",
    "wide.csv": "image," + ",".join(f"m{k}" for k in range(12)) + "\n",
    "x.parquet": lambda path: pq.write_table(
        pa.table({"image_id": ["a", "b"], "label": ["cat", "dog"]}), path
    ),
}


def lay(folder: Path, line: str) -> None:
    """Make what a line names."""
    for name, what in LIE.items():
        if not re.search(rf"(?:^|[ =]){re.escape(name)}(?:$|[ :])", line):
            continue
        path = folder / name
        if callable(what):
            (path if name.endswith("/") else path.parent).mkdir(exist_ok=True)
            what(path)
        else:
            path.write_bytes(what.encode() if isinstance(what, str) else what)


def _make_maps(folder: Path) -> made.Corpus:
    """Studies of label maps, each a step further than the one before, and one of a single model."""
    corpus = made.corpus(folder / "corpus", images=6, models=3)
    at = made.collected(corpus, folder / "collected", shard_size=4)

    def further(name: str) -> Path:
        return Path(shutil.copytree(at, folder / name))

    fs.predict(str(further("one")), {"one": corpus.models["model-0"]}, engine="local")
    at = further("predicted")
    fs.predict(str(at), corpus.models, engine="local")
    at = further("compared")
    fs.compare(str(at), engine="local")
    fs.select(str(further("drawn")), goal="order", budget=2, engine="local")
    fs.select(str(further("pointed")), sampling=fs.options.Sampling(points=10), engine="local")
    at = further("selected")
    fs.select(str(at), engine="local")
    at = further("labelled")
    fs.label.import_(str(at), str(corpus.truth))
    fs.label.import_(str(further("twice")), str(corpus.truth), truth="ann")
    return corpus


class Places:
    """Where the studies are that a line may begin with, and what they were made of. A line that is refused leaves
    them as they are, so that one copy of each serves all lines.
    """

    def __init__(self, folder: Path, request: pytest.FixtureRequest) -> None:
        self.folder, self.request, self.made = folder, request, dict[str, str]()
        self.held: dict[str, dict[str, bytes]] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self.made:
            if name in ("plain", "fitted", "own", "source"):
                self.made |= self._networks()
            elif name in ("answers", "answered", "asked", "table"):
                self.made |= self._answers()
            else:
                self.made |= self._maps()
        place = Path(self.made[name])
        if name not in self.held and (place / "study.toml").exists():
            self.made[name] = str(shutil.copytree(place, self.folder / f"at-{name}" / STUDY))
            self.held[name] = held(Path(self.made[name]))
        return self.made[name]

    def _maps(self) -> dict[str, str]:
        folder, corpus = Goldens.made("wrong lines", _make_maps)
        return {
            **{path.name: str(path) for path in folder.iterdir()},
            **{f"m{k}": str(path) for k, path in enumerate(corpus.models.values())},
            "maps": str(corpus.root / "maps"),
            "photos": str(corpus.photos),
            "truth": str(corpus.truth),
            "classes": str(corpus.classes),
        }

    def _answers(self) -> dict[str, str]:
        it = made_answers.study(self.folder / "answers", images=8, errors=(0.2, 0.4))
        answered = made_answers.study(self.folder / "answered", images=20)
        fs.select(answered.study, top=2)
        asked = shutil.copytree(answered.study, self.folder / "asked")
        made_answers.import_labels(answered)
        return {
            "answers": it.study,
            "answered": answered.study,
            "asked": str(asked),
            "table": it.tables["model-0"],
        }

    def _networks(self) -> dict[str, str]:
        once = self.request.getfixturevalue("trained_once")
        trained = made_training.copy_of(once, self.folder / "networks")
        fs.predict(trained.study, {"plain": trained.source}, engine="local")
        with_method = made_training.copy_of(trained, self.folder / "fitted")
        fitted(with_method, "knn")
        return {
            "plain": trained.study,
            "fitted": with_method.study,
            "own": trained.own,
            "source": trained.source,
        }


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Places:
    return Places(tmp_path_factory.mktemp("places"), request)


def held(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, but for what a refused line may write: why, that it ran, and work that a better line
    takes up.
    """
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
        if not path.name.startswith(".")
        and path.name not in ("failures.csv", "log.jsonl")
        and not {"measured", "scored"} & {*path.parts}
    }


# what to do, what is expected, or what there is; that a file is not there, or is not what it is called, needs no more
GOES_ON = re.compile(
    r"[;`?]|expected |vailable|must be|need|for example|(built in|layers) are|it has|names (a|every)|neither|is not a study|twice|cannot be combined"
    r"|\b(give|name|keep|leave|use|run|make|choose) |no such|there is no|not a readable|is not TOML|(?i:no such file)"
)


@pytest.mark.parametrize(("line", "says"), ROWS, ids=[line for line, _ in ROWS])
def test_a_wrong_line_says_what_is_wrong_and_how_to_go_on(
    line: str, says: str, places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lay(tmp_path, line)
    where = {name: places[name] for name in re.findall(r"\{([\w-]+)\}", line + says)}

    def filled(text: str) -> str:
        for name, place in where.items():
            text = text.replace(f"{{{name}}}", place)
        return text

    before = held(tmp_path)
    typed = [filled(word) for word in shlex.split(line)]
    said = refused_text(*typed)
    pattern = r".*".join(re.escape(words) for words in filled(says).strip("^$").split(" ... "))
    assert re.search("^" * says.startswith("^") + pattern + "$" * says.endswith("$"), said), said
    assert held(tmp_path) == before
    for name in where.keys() & places.held.keys():
        assert held(Path(where[name])) == places.held[name]
    assert not re.search(r"Traceback|Errno|codec|<class|0x[0-9a-f]{6}|\bNone\b", said), said
    assert GOES_ON.search(said), f"does not say how to go on: {said}"
    named = [part for word in typed for part in re.split(r"[=:,]", word.strip("-/")) if part]
    assert re.search("is empty|give |got |has no ", said) or any(
        part.replace("_", "-") in said.replace("_", "-") for part in named
    ), f"does not name what is wrong: {said}"
