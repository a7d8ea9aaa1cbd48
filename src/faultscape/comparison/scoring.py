"""stub"""
from __future__ import annotations
import numpy as np
class S:
    failures={}; curves={}; images={}; texts={}; notes=(); present={}
    def summaries(self,*a): return {}
def scores(*a, **k): return S()
