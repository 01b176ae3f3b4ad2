"""Reading plans: YAML with places, what is replaced in it, what must agree, and mistakes as sentences."""
