"""MaskIt (Götz, Nath, Gehrke 2012): three checks that suppress, and one for an observer who knows less."""
