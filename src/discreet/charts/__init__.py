"""Charts and maps in the house style."""
