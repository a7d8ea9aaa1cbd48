"""stub"""
def page(*a): return "x"
