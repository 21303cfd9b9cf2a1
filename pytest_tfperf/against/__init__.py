"""Two commits in one session: another checkout of the same repository, measured in the same rounds."""
