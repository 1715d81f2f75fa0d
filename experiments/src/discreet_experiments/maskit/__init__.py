"""MaskIt's experiments (Götz, Nath, Gehrke 2012)."""
