"""DPHMM's experiments (Xiao, Xiong, Zhang, Cao 2017)."""
