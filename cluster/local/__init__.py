"""The local backend: plain processes on leased loopback addresses, owned by the keeper."""
