"""What headrace.bench and `headrace bench` measure Headrace against, and the processes that do so."""
