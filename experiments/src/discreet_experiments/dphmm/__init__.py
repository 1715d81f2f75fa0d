"""DPHMM's experiments (Xiao, Shen, Liu, Xiong, Jin, Xu)."""
