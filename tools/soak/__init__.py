"""What grows over hundreds of clusters in one session, and over dozens of sessions in a row."""
