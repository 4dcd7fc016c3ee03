"""Files in, files out: tables of visits, position fixes, archives, downloads, exported models."""
