"""The web page of a history: what a team reads, searches and decides, served to browsers."""
