"""What requests and answers need: parameters, access control, caching, the open store."""
