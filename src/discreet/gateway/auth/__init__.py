"""Who may do what: tokens, the owner's login, and the check that every route makes."""
