"""How files write things down that several formats share: points in XML, and columns of tables."""
