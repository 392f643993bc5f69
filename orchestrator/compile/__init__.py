"""From a planned run to the specification that the test bed reads."""
