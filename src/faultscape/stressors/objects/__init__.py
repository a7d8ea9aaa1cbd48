"""Objects to be blended into images: cut out of images, found in label maps, or drawn."""
