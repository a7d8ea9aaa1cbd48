"""Cut-outs in files: folders of images with transparency or masks, PASCAL VOC, COCO, objects.csv, and the
file in which a study keeps one.
"""
