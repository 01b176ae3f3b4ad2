"""The backend in containers: the same servers, run by a Docker engine on bridges of the run's own."""
