"""`explain`: how single examples and classes relate, and the images that pages show."""
