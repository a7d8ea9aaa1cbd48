from .signature import rank_table as rank_table
