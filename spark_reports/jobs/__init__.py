"""Jobs: read, call transforms, publish. They run from the command line, the site and the tests."""
