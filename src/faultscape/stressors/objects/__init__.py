"""Objects to blend into images: cut out of images, found in label maps, or drawn."""
