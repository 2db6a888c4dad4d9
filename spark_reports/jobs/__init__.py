"""Jobs: read, call transforms, publish; each can be run from the command line, the site and the tests."""
