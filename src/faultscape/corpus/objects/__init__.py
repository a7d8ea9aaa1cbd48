"""Cut-outs in files: folders of images with transparency or masks, PASCAL VOC, COCO, objects.csv, and the
file format in which a study keeps a cut-out.
"""
