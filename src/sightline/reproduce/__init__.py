"""The paper's claims, measured again, each by one function that can be interrupted and goes on."""
