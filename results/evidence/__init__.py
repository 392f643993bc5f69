"""What people who look after a TCP stack ask for in threads: text of ss and nstat, intervals."""
